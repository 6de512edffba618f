{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "mokka.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The usual full name of a release. */}}
{{- define "mokka.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- end -}}

{{/* The name of most objects: the base is cut, so that the suffix fits in 63. A
     release may have dots and begin with a digit, a Service may not. */}}
{{- define "mokka.name" -}}
{{- $base := include "mokka.fullname" . | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $base -}}
{{- $base = printf "mokka-%s" $base -}}
{{- end -}}
{{- printf "%s-control-plane" ($base | trunc 49 | trimSuffix "-") -}}
{{- end -}}

{{/* The fixed name: one control plane in a cluster, and beside it one in shadow. */}}
{{- define "mokka.singleton" -}}
{{- .Values.controlPlane.shadow | ternary "shadow" "control-plane" -}}.mokka.nvidia.com
{{- end -}}

{{/* true or empty: whether the release has what serves writing. */}}
{{- define "mokka.writes" -}}
{{- and .Values.controlPlane.enabled (not .Values.controlPlane.shadow) | ternary "true" "" -}}
{{- end -}}

{{- define "mokka.selector" -}}
app.kubernetes.io/name: {{ printf "%s-control-plane" (default .Chart.Name .Values.nameOverride) | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: control-plane
{{- end -}}

{{/* Labels of an object that does not belong to the pods' selector. */}}
{{- define "mokka.common" -}}
helm.sh/chart: {{ include "mokka.chart" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "mokka.labels" -}}
{{ include "mokka.selector" . }}
{{ include "mokka.common" . }}
{{- end -}}

{{- define "mokka.image" -}}
{{- $image := .Values.controlPlane.image -}}
{{- $name := $image.repository -}}
{{- with (.Values.global).imageRegistry -}}
{{- $name = printf "%s/%s" (trimSuffix "/" .) $name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Pull secrets of both lists; of each only the first time. */}}
{{- define "mokka.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list (.Values.global).imagePullSecrets) .Values.imagePullSecrets -}}
{{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name")) -}}
{{- end -}}
{{- with uniq $names -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "mokka.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "mokka.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* true or false: whether the admission policy is part of the release. */}}
{{- define "mokka.writeGuard" -}}
{{- $wanted := get .Values.controlPlane.writeGuard "enabled" -}}
{{- $new := semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- if .Values.controlPlane.shadow -}}
{{- /* It would keep out the control plane that this one is beside. */ -}}
false
{{- else if kindIs "bool" $wanted -}}
{{- if and $wanted (not $new) -}}
{{- fail (printf "controlPlane.writeGuard.enabled: ValidatingAdmissionPolicy needs Kubernetes 1.30, this is %s; set it to false, or leave it out" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $wanted -}}
{{- else -}}
{{- /* Without a cluster (helm template) no kinds are known: its version decides. */ -}}
{{- $kinds := .Capabilities.APIVersions.Has "v1/Pod" -}}
{{- and $new (or (not $kinds) (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")) -}}
{{- end -}}
{{- end -}}

{{/* Fails if another release, or somebody else, has the fixed name. */}}
{{- define "mokka.checkSingleton" -}}
{{- $name := include "mokka.singleton" . -}}
{{- with lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" $name -}}
{{- $by := default dict .metadata.annotations -}}
{{- $release := get $by "meta.helm.sh/release-name" -}}
{{- $namespace := get $by "meta.helm.sh/release-namespace" -}}
{{- if not $release -}}
{{- fail (printf "there is a control plane in this cluster already that no Helm release owns: ClusterRoleBinding %s; remove it, or that control plane with all it has, first" $name) -}}
{{- else if or (ne $release $.Release.Name) (ne $namespace $.Release.Namespace) -}}
{{- fail (printf "there is a control plane in this cluster already: release %s in namespace %s owns ClusterRoleBinding %s, and this is release %s in namespace %s; a cluster has one (more replicas: controlPlane.replicas)" $release $namespace $name $.Release.Name $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The spec of a pod that runs mokkactl once, as the control plane's account. */}}
{{- define "mokka.helperPod" -}}
{{- $root := .root -}}
{{- $cp := $root.Values.controlPlane -}}
serviceAccountName: {{ include "mokka.name" $root }}
automountServiceAccountToken: true
restartPolicy: Never
{{- with include "mokka.pullSecrets" $root }}
{{ . }}
{{- end }}
securityContext:
  {{- include "mokka.podSecurity" $root | nindent 2 }}
containers:
  - name: mokkactl
    image: {{ include "mokka.image" $root | quote }}
    imagePullPolicy: {{ $cp.image.pullPolicy }}
    command:
      - /usr/local/bin/mokkactl
      {{- range .arguments }}
      - {{ . }}
      {{- end }}
    env:
      - name: POD_NAMESPACE
        valueFrom:
          fieldRef:
            fieldPath: metadata.namespace
      - name: MOKKA_CP_LEADER_ELECTION_NAME
        value: {{ $cp.leaderElection.name | quote }}
    securityContext:
      {{- include "mokka.containerSecurity" $root | nindent 6 }}
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
      limits:
        memory: 256Mi
{{- with $cp.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $cp.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Without an own wish: memory by the size of the estate, as measured
     (docs/operating.md), and no limit for CPU: a throttled elector loses the
     Lease, and a converged control plane uses next to none. */}}
{{- define "mokka.resources" -}}
{{- with .Values.controlPlane.resources -}}
{{- toYaml . -}}
{{- else -}}
{{- $thousands := ceil (divf .Values.controlPlane.estateNodes 1000) | int64 -}}
requests:
  cpu: 50m
  memory: {{ add 64 (mul 2 $thousands) }}Mi
limits:
  memory: {{ add 128 (mul 4 $thousands) }}Mi
{{- end -}}
{{- end -}}
