# SPDX-License-Identifier: Apache-2.0
"""What the charts make of their values (mokka-control 10)."""

import json
import re
import subprocess
import unittest

import charts
import yaml
from charts import CHART, CRDS, ROOT, Rendered, control_plane, refusal

NAME = "mokka-control-plane"
FIXED = "control-plane.mokka.nvidia.com"
OLD = ("--kube-version", "1.29.9")


class Objects(unittest.TestCase):
    def test_H01_without_the_control_plane_there_is_no_object(self):
        self.assertEqual(Rendered(control_plane(enabled=False)).items, [])

    def test_H02_names_and_kinds(self):
        r = Rendered()
        self.assertEqual(r.kinds(), sorted([
            "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
            *["Role", "RoleBinding"] * 3, "Deployment", "Service", "Pod",
            "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]))
        for kind in ("ServiceAccount", "Deployment", "Service"):
            self.assertEqual(r[kind]["metadata"]["name"], NAME)
        self.assertEqual(r["ClusterRole"]["metadata"]["name"], FIXED)
        self.assertEqual(r["ClusterRoleBinding"]["metadata"]["name"], FIXED)
        self.assertEqual(r["ClusterRoleBinding"]["roleRef"]["name"], FIXED)
        self.assertEqual(r.pod()["serviceAccountName"], NAME)

    def test_in_shadow_nothing_serves_writing(self):
        r = Rendered(control_plane(
            shadow=True, replicas=2, podDisruptionBudget={"enabled": True},
            uninstallGuard={"enabled": True}, writeGuard={"enabled": True},
            flowSchema={"enabled": True}, prometheusRule={"enabled": True}))
        self.assertEqual(r.kinds(), ["ClusterRole", "ClusterRoleBinding", "Deployment",
                                     "Service", "ServiceAccount"])
        self.assertEqual({verb for rule in r["ClusterRole"]["rules"] for verb in rule["verbs"]},
                         {"get", "list", "watch"})
        # The other control plane has the fixed name.
        for item in r["ClusterRole"], r["ClusterRoleBinding"]:
            self.assertEqual(item["metadata"]["name"], "shadow.mokka.nvidia.com")
        self.assertEqual(r["ClusterRoleBinding"]["roleRef"]["name"], "shadow.mokka.nvidia.com")
        self.assertEqual(r["Deployment"]["spec"]["replicas"], 1)
        arguments = r.arguments()
        self.assertEqual(arguments["shadow"], "true")
        self.assertEqual([a for a in arguments if a.startswith("leader")], [])

    def test_H02_labels_and_selectors(self):
        r = Rendered(release="lab")
        selector = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": "lab",
                    "app.kubernetes.io/component": "control-plane"}
        deployment = r["Deployment"]
        self.assertEqual(deployment["spec"]["selector"]["matchLabels"], selector)
        self.assertEqual(r["Service"]["spec"]["selector"], selector)
        self.assertLessEqual(selector.items(),
                             deployment["spec"]["template"]["metadata"]["labels"].items())
        self.assertEqual(deployment["metadata"]["labels"], selector | {
            "helm.sh/chart": "mokka-0.1.0", "app.kubernetes.io/version": "0.1.0",
            "app.kubernetes.io/managed-by": "Helm"})
        # helm test's pod is none of them.
        self.assertNotEqual(r["Pod"]["metadata"]["labels"]["app.kubernetes.io/component"],
                            "control-plane")

    def test_names_that_YAML_takes_for_something_else_stay_texts(self):
        """A release, a namespace and what values name may be 123, on or null."""
        secrets = [{"name": "1e3"}]
        for name in ("123", "1e3", "on", "null", "true", "0x10"):
            with self.subTest(name=name):
                r = Rendered({"nameOverride": "12", "imagePullSecrets": secrets, **control_plane(
                    priorityClassName=name, leaderElection={"name": name},
                    uninstallGuard={"enabled": True}, networkPolicy={"enabled": True},
                    podDisruptionBudget={"enabled": True}, flowSchema={"enabled": True},
                    serviceMonitor={"enabled": True})}, release=name, namespace=name)
                pod = r.pod()
                self.assertEqual(pod["priorityClassName"], name)
                self.assertEqual(pod["imagePullSecrets"], secrets)
                self.assertEqual(
                    r["Deployment"]["spec"]["selector"]["matchLabels"],
                    {"app.kubernetes.io/name": "12-control-plane",
                     "app.kubernetes.io/instance": name,
                     "app.kubernetes.io/component": "control-plane"})
                self.assertEqual(r["FlowSchema"]["spec"]["rules"][0]["resourceRules"][0][
                    "namespaces"], [name])
                for item in r.items:
                    self.every_text(item, ("namespace", "app.kubernetes.io/instance"), name)
                env = r["Pod"]["spec"]["containers"][0]["env"]
                self.assertIn({"name": "MOKKA_CP_LEADER_ELECTION_NAME", "value": name}, env)

    def every_text(self, item, keys, name):
        """Each value of those keys, however deep, is that text (or "default")."""
        if isinstance(item, list):
            for part in item:
                self.every_text(part, keys, name)
        elif isinstance(item, dict):
            for key, value in item.items():
                if key in keys:
                    self.assertIn(value, (name, "default"), item)
                self.every_text(value, keys, name)

    def test_H02_the_deployment(self):
        r = Rendered()
        spec = r["Deployment"]["spec"]
        self.assertEqual(spec["replicas"], 1)
        self.assertEqual(spec["strategy"], {"type": "RollingUpdate", "rollingUpdate": {
            "maxUnavailable": 0, "maxSurge": 1}})
        self.assertIs(r.pod()["automountServiceAccountToken"], True)
        c = r.container()
        self.assertEqual(c["name"], "control-plane")
        self.assertEqual(c["image"], "mokka-control-plane:0.1.0")
        self.assertEqual(c["imagePullPolicy"], "IfNotPresent")
        self.assertEqual(c["ports"], [{"name": "http", "containerPort": 8080,
                                       "protocol": "TCP"}])
        self.assertEqual(r.arguments(), {
            "listen-addr": ":8080", "log-level": "info", "log-format": "json",
            "shutdown-timeout": "5s", "leader-election-name": FIXED,
            "leader-election-namespace": "$(POD_NAMESPACE)", "workers": "2"})
        self.assertEqual({e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"]
                          for e in c["env"]},
                         {"POD_NAMESPACE": "metadata.namespace",
                          "POD_NAME": "metadata.name", "POD_UID": "metadata.uid"})
        for probe, path, period in (("readinessProbe", "/readyz", 5),
                                    ("livenessProbe", "/healthz", 10)):
            self.assertEqual(c[probe], {
                "httpGet": {"path": path, "port": "http"}, "periodSeconds": period,
                "timeoutSeconds": 2, "failureThreshold": 3})
        self.assertEqual(r["Service"]["spec"]["ports"], [
            {"name": "http", "port": 8080, "targetPort": "http", "protocol": "TCP"}])

    def test_H02_security_context_of_every_pod(self):
        r = Rendered(control_plane(uninstallGuard={"enabled": True}))
        for pod in (r.pod(), r["Pod"]["spec"], r["Job"]["spec"]["template"]["spec"]):
            container, = pod["containers"]
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"}})

    def test_H02_the_pause_before_a_stop_where_servers_know_it(self):
        wanted = {"preStop": {"sleep": {"seconds": 10}}}
        self.assertEqual(Rendered().container()["lifecycle"], wanted)
        for version in ("1.30.0", "v1.30.0-gke.100", "1.31.1+k3s1"):
            container = Rendered({}, "--kube-version", version).container()
            self.assertEqual(container["lifecycle"], wanted, version)
        self.assertNotIn("lifecycle", Rendered({}, *OLD).container())

    def test_H02_rates_only_where_they_are_set(self):
        self.assertNotIn("kube-api-qps", Rendered(control_plane(
            kubeAPIQPS=None, kubeAPIBurst=None)).arguments())
        arguments = Rendered(control_plane(kubeAPIQPS=12.5, kubeAPIBurst=2000000)).arguments()
        self.assertEqual((arguments["kube-api-qps"], arguments["kube-api-burst"]),
                         ("12.5", "2000000"))

    def test_H02_every_argument_is_an_option_of_the_program(self):
        known = re.findall(r'^OPTION\("([\w-]+)"', (
            ROOT / "supervisor" / "options.def").read_text(), re.MULTILINE)
        r = Rendered(control_plane(kubeAPIQPS=1, kubeAPIBurst=1, projectCliqueLabel=False,
                                   requireSandbox=True))
        self.assertLessEqual(set(r.arguments()), set(known))

    def test_10_3_roles(self):
        r = Rendered()
        group = ["mokka.nvidia.com"]
        self.assertEqual(r["ClusterRole"]["rules"], [
            {"apiGroups": [""], "resources": ["nodes"],
             "verbs": ["get", "list", "watch", "patch"]},
            {"apiGroups": group, "resources": ["sgpurackprofiles"],
             "verbs": ["get", "list", "watch"]},
            {"apiGroups": group, "resources": ["sgpuinventories"],
             "verbs": ["get", "list", "watch", "update"]},
            {"apiGroups": group, "resources": ["sgpuracks"],
             "verbs": ["get", "list", "watch", "create", "update", "delete"]},
            {"apiGroups": group, "verbs": ["update"],
             "resources": ["sgpuinventories/status", "sgpuracks/status"]}])
        self.assertEqual(r["Role", NAME]["rules"], [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "verbs": ["get", "list", "watch", "create", "update"]}])
        self.assertEqual(r["Role", NAME]["metadata"]["namespace"], charts.NAMESPACE)
        for item in r.items:
            if item["kind"].endswith("RoleBinding"):
                self.assertEqual(item["subjects"], [
                    {"kind": "ServiceAccount", "name": NAME,
                     "namespace": charts.NAMESPACE}])

    def test_12_Events_are_a_right_of_their_own(self):
        def places(*arguments, **options):
            return [(i["metadata"]["namespace"], i["rules"]) for i in Rendered(
                *arguments, **options).items if i["kind"] == "Role"
                and i["metadata"]["name"].endswith("-events")]
        rules = [{"apiGroups": ["", "events.k8s.io"], "resources": ["events"],
                  "verbs": ["create", "patch"]}]
        self.assertEqual(sorted(places()), [("default", rules), (charts.NAMESPACE, rules)])
        self.assertEqual(places(namespace="default"), [("default", rules)])
        self.assertEqual(places(control_plane(events={"enabled": False})), [])

    def test_H09_a_long_name_keeps_its_suffix(self):
        for release in ("r" * 53, "r" * 48 + "-abcd"):
            r = Rendered(release=release)
            for kind in ("ServiceAccount", "Deployment", "Service"):
                name = r[kind]["metadata"]["name"]
                self.assertLessEqual(len(name), 63)
                self.assertRegex(name, r"^r[r-]*r-control-plane$")
                self.assertNotIn("--", name)
        for item in r.items:
            for value in item["metadata"].get("labels", {}).values():
                self.assertLessEqual(len(value), 63)
        self.assertEqual(Rendered({"fullnameOverride": "x" * 80})["Service"]["metadata"][
            "name"], "x" * 49 + "-control-plane")
        self.assertEqual(Rendered({"nameOverride": "gpus"})["Service"]["metadata"][
            "name"], "mokka-gpus-control-plane")

    def test_names_are_those_that_a_Service_may_have(self):
        """A release may have a dot, or begin with a digit; a Service may not."""
        for release, name in (("1.28-lab", "mokka-1-28-lab-mokka-control-plane"),
                              ("mokka.lab", "mokka-lab-control-plane"),
                              ("2026", "mokka-2026-mokka-control-plane"),
                              ("a" * 48 + ".b.c", "a" * 48 + "-control-plane")):
            r = Rendered(control_plane(uninstallGuard={"enabled": True}, flowSchema={
                "enabled": True}, networkPolicy={"enabled": True}), release=release)
            self.assertEqual(r["Service"]["metadata"]["name"], name)
            self.assertEqual(r.pod()["serviceAccountName"], name)
            for item in r.items:
                own = item["metadata"]["name"]
                if own != FIXED:
                    self.assertRegex(own, r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
                    self.assertTrue(own.startswith(name), own)
                labels = item["metadata"].get("labels", {})
                self.assertEqual(labels.get("app.kubernetes.io/instance", release), release)

    def test_nothing_of_two_releases_meets_but_the_fixed_name(self):
        one, two = (
            {(i["kind"], i["metadata"].get("namespace"), i["metadata"]["name"])
             for i in Rendered(release=release).items} for release in ("mokka-a", "mokka-b"))
        self.assertEqual({name for _, _, name in one & two}, {FIXED})


class Values(unittest.TestCase):
    def test_H03_a_port_moves_everywhere(self):
        r = Rendered(control_plane(service={"port": 9090, "type": "NodePort"}))
        self.assertEqual(r.arguments()["listen-addr"], ":9090")
        self.assertEqual(r.container()["ports"][0]["containerPort"], 9090)
        self.assertEqual(r["Service"]["spec"]["ports"][0]["port"], 9090)
        self.assertEqual(r["Service"]["spec"]["type"], "NodePort")

    def test_H03_logging_replicas_and_the_rest(self):
        r = Rendered(control_plane(
            logging={"level": "debug", "format": "plain"}, replicas=3, workers=16,
            shutdownTimeout="1500ms", leaderElection={"name": "other.lease"},
            projectCliqueLabel=False, requireSandbox=True, nodeSelector={"pool": "system"},
            tolerations=[{"operator": "Exists"}], priorityClassName="high",
            affinity={"nodeAffinity": {}}, podAnnotations={"a": "b"},
            topologySpreadConstraints=[{"maxSkew": 1}],
            podLabels={"team": "lab", "app.kubernetes.io/component": "mine"}))
        self.assertEqual(r["Deployment"]["spec"]["replicas"], 3)
        arguments = r.arguments()
        for flag, value in {"log-level": "debug", "log-format": "plain", "workers": "16",
                            "shutdown-timeout": "1500ms", "project-clique-label": "false",
                            "require-sandbox": "true",
                            "leader-election-name": "other.lease"}.items():
            self.assertEqual(arguments[flag], value)
        pod = r.pod()
        self.assertEqual(pod["nodeSelector"], {"pool": "system"})
        self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])
        self.assertEqual(pod["priorityClassName"], "high")
        self.assertEqual(pod["affinity"], {"nodeAffinity": {}})
        self.assertEqual(pod["topologySpreadConstraints"], [{"maxSkew": 1}])
        metadata = r["Deployment"]["spec"]["template"]["metadata"]
        self.assertEqual(metadata["annotations"], {
            "a": "b", "kubectl.kubernetes.io/default-container": "control-plane"})
        self.assertEqual(metadata["labels"]["team"], "lab")
        self.assertEqual(metadata["labels"]["app.kubernetes.io/component"], "control-plane")
        # helm test asks about the same Lease.
        environment = {e["name"]: e.get("value") for e in
                       r["Pod"]["spec"]["containers"][0]["env"]}
        self.assertEqual(environment["MOKKA_CP_LEADER_ELECTION_NAME"], "other.lease")

    def test_H03_images(self):
        digest = "sha256:" + "0a" * 32
        for image, registry, wanted in (
                ({"tag": "v2"}, "", "mokka-control-plane:v2"),
                ({"repository": "x/y", "digest": digest, "tag": "v2"}, "", f"x/y@{digest}"),
                ({"repository": "x/y"}, "reg.example:5000", "reg.example:5000/x/y:0.1.0"),
                ({}, "reg.example/", "reg.example/mokka-control-plane:0.1.0")):
            r = Rendered(control_plane(image=image) | {"global": {"imageRegistry": registry}})
            self.assertEqual(r.container()["image"], wanted)
            self.assertEqual(r["Pod"]["spec"]["containers"][0]["image"], wanted)

    def test_H03_pull_secrets_of_both_lists(self):
        r = Rendered({"imagePullSecrets": [{"name": "own"}, {"name": "both"}],
                      "global": {"imagePullSecrets": ["both", {"name": "shared"}]}})
        for pod in (r.pod(), r["Pod"]["spec"]):
            self.assertEqual(pod["imagePullSecrets"], [
                {"name": "both"}, {"name": "shared"}, {"name": "own"}])
        self.assertNotIn("imagePullSecrets", Rendered().pod())

    def test_H10_disruption_budget(self):
        def budget(**values):
            return Rendered(control_plane(podDisruptionBudget=dict(
                enabled=True, **values)))["PodDisruptionBudget"]["spec"]
        selector = budget().pop("selector")
        self.assertEqual(selector, Rendered()["Deployment"]["spec"]["selector"])
        for values, wanted in (
                ({}, {"maxUnavailable": 1}),
                ({"minAvailable": None, "maxUnavailable": None}, {"maxUnavailable": 1}),
                ({"maxUnavailable": 0}, {"maxUnavailable": 0}),
                ({"minAvailable": 0}, {"minAvailable": 0}),
                ({"minAvailable": 2}, {"minAvailable": 2}),
                ({"minAvailable": "50%"}, {"minAvailable": "50%"}),
                ({"maxUnavailable": "0%"}, {"maxUnavailable": "0%"})):
            self.assertEqual(budget(**values), wanted | {"selector": selector})
        self.assertNotIn("PodDisruptionBudget", Rendered().kinds())
        for value in ("all", "50", "101%", "-1%", -1, 1.5, True):
            refusal(control_plane(podDisruptionBudget={"enabled": True,
                                                       "minAvailable": value}))
        self.assertIn("exclude each other", refusal(control_plane(podDisruptionBudget={
            "enabled": True, "minAvailable": 1, "maxUnavailable": 1})))

    def test_H11_grace_period(self):
        self.assertEqual(Rendered().pod()["terminationGracePeriodSeconds"], 30)
        self.assertEqual(Rendered(control_plane(terminationGracePeriodSeconds=90)).pod()[
            "terminationGracePeriodSeconds"], 90)
        self.assertEqual(Rendered(control_plane(terminationGracePeriodSeconds=0)).pod()[
            "terminationGracePeriodSeconds"], 0)

    def test_memory_follows_from_the_estate_and_CPU_has_no_limit(self):
        small, large = (Rendered(control_plane(estateNodes=n)).container()["resources"]
                        for n in (1000, 100000))
        for resources in (small, large):
            self.assertEqual(set(resources["limits"]), {"memory"})
        def mebibytes(resources):
            return int(resources["limits"]["memory"].removesuffix("Mi"))
        self.assertLess(mebibytes(small), mebibytes(large))
        own = {"requests": {"cpu": "50m", "memory": "64Mi"},
               "limits": {"cpu": "500m", "memory": "1Gi"}}
        self.assertEqual(Rendered(control_plane(resources=own)).container()["resources"], own)

    def test_a_network_policy(self):
        r = Rendered(control_plane(networkPolicy={
            "enabled": True, "apiServerPorts": [8443],
            "ingressFrom": [{"podSelector": {}}]}))
        spec = r["NetworkPolicy"]["spec"]
        self.assertEqual(spec["ingress"], [{"from": [{"podSelector": {}}], "ports": [
            {"port": "http", "protocol": "TCP"}]}])
        self.assertEqual([p["port"] for p in spec["egress"][0]["ports"]], [53, 53, 8443])

    def test_a_priority_level_for_the_Lease(self):
        for words, version in (((), "v1"), (("--kube-version", "1.28.15"), "v1beta3")):
            r = Rendered(control_plane(flowSchema={"enabled": True}), *words)
            schema = r["FlowSchema"]
            self.assertEqual(schema["apiVersion"],
                             f"flowcontrol.apiserver.k8s.io/{version}")
            self.assertEqual(schema["spec"]["priorityLevelConfiguration"]["name"],
                             r["PriorityLevelConfiguration"]["metadata"]["name"])
            rule, = schema["spec"]["rules"]
            self.assertEqual(rule["subjects"][0]["serviceAccount"],
                             {"name": NAME, "namespace": charts.NAMESPACE})
            self.assertEqual(rule["resourceRules"][0]["resources"], ["leases"])

    def test_a_release_that_is_not_drained_is_not_removed(self):
        self.assertNotIn("Job", Rendered().kinds())
        job = Rendered(control_plane(uninstallGuard={"enabled": True}))["Job"]
        self.assertEqual(job["metadata"]["annotations"]["helm.sh/hook"], "pre-delete")
        self.assertEqual(job["spec"]["backoffLimit"], 0)
        container, = job["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["command"],
                         ["/usr/local/bin/mokkactl", "drain", "--check"])


class Guard(unittest.TestCase):
    def test_V04_an_old_server_cannot_have_the_guard(self):
        on = control_plane(writeGuard={"enabled": True})
        said = refusal(on, *OLD)
        for word in ("controlPlane.writeGuard.enabled", "1.30", "v1.29.9"):
            self.assertIn(word, said)
        self.assertIn("ValidatingAdmissionPolicy", Rendered(
            on, "--kube-version", "1.30.0").kinds())

    def test_10_5_unset_it_follows_the_server(self):
        policy = "ValidatingAdmissionPolicy"
        self.assertIn(policy, Rendered().kinds())
        self.assertIn(policy, Rendered(control_plane(writeGuard={"enabled": None})).kinds())
        self.assertNotIn(policy, Rendered({}, *OLD).kinds())
        self.assertNotIn(policy, Rendered(control_plane(writeGuard={"enabled": False})).kinds())
        # A cluster tells its kinds; one without this one has it not.
        self.assertNotIn(policy, Rendered({}, "--api-versions", "v1/Pod").kinds())
        self.assertIn(policy, Rendered(
            {}, "--api-versions", "v1/Pod", "--api-versions",
            f"admissionregistration.k8s.io/v1/{policy}").kinds())

    def test_10_5_what_it_matches(self):
        r = Rendered()
        spec = r["ValidatingAdmissionPolicy"]["spec"]
        name = f"{NAME}-sgpurack-writes"
        self.assertEqual(r["ValidatingAdmissionPolicy"]["metadata"]["name"], name)
        self.assertEqual(spec["failurePolicy"], "Fail")
        self.assertEqual(spec["matchConstraints"]["resourceRules"], [
            {"apiGroups": ["mokka.nvidia.com"], "apiVersions": ["v1alpha1"],
             "operations": ["CREATE", "UPDATE"], "resources": ["sgpuracks"]}])
        self.assertTrue(spec["validations"][0]["message"].startswith(
            "SGPURack writes are restricted"))
        self.assertEqual(r["ValidatingAdmissionPolicyBinding"]["spec"],
                         {"policyName": name, "validationActions": ["Deny"]})


class Schema(unittest.TestCase):
    BAD = {
        "logging.level": ["loud", "", 1],
        "logging.format": ["xml"],
        "logging.sampling": [True],
        "service.port": [0, 65536, "http", 80.5],
        "service.type": ["ExternalName"],
        "kubeAPIQPS": [0, -1, "fast"],
        "kubeAPIBurst": [0, -1, 1.5],
        "leaderElection.name": ["", "Not_A_Name", "a..b", "-a", "x" * 254],
        "leaderElection.namespace": ["elsewhere"],
        "replicas": [0, 1.5, "two"],
        "workers": [0],
        "image.repository": [""],
        "image.digest": ["sha256:abc", "0" * 64, "sha256:" + "G" * 64],
        "image.tag": ["a b", ":x"],
        "image.pullPolicy": ["Sometimes"],
        "shutdownTimeout": ["5", "-5s", "5 s", 5],
        "terminationGracePeriodSeconds": [-1, "30s"],
        "estateNodes": [0, 100001],
        "podLabels.a": [1],
        "projectCliqueLabel": ["false"],
        "writeGuard.enabled": ["yes"],
        "networkPolicy.apiServerPorts": [[], [0], "443"],
        "replica": [2],
        "features": [{}],
    }

    def test_H05_bad_values_are_refused_by_name(self):
        for path, values in self.BAD.items():
            for bad in values:
                nested = bad
                for key in reversed(path.split(".")):
                    nested = {key: nested}
                said = refusal({"controlPlane": nested})
                with self.subTest(path=path, value=bad):
                    self.assertIn(path.rsplit(".", 1)[-1].split("[")[0], said)
                    self.assertIn("values don't meet the specifications", said)

    def test_names_that_cannot_be_are_refused(self):
        for key, values in (("nameOverride", ("A", "a.b", "-a", "a_b", 1)),
                            ("fullnameOverride", ("A", "a.b", "1a", "a-", "a b"))):
            for bad in values:
                self.assertIn(key, refusal({key: bad}))
        for good in ("", "a", "gpu-2"):
            Rendered({"nameOverride": good, "fullnameOverride": good})

    def test_H05_unknown_values_at_the_top(self):
        self.assertIn("controlplane", refusal({"controlplane": {"enabled": False}}))
        self.assertIn("anything", refusal({"anything": 1}, chart=CRDS))

    def test_H05_every_value_there_is_passes(self):
        """Each key of values.yaml is in the schema, and the reverse but for those
        without a default."""
        schema = json.loads((CHART / "values.schema.json").read_text())
        values = yaml.safe_load((CHART / "values.yaml").read_text())

        def missing(schema, values, path=""):
            for key, below in schema.get("properties", {}).items():
                if key not in values:
                    yield path + key
                elif isinstance(values[key], dict):
                    yield from missing(below, values[key], f"{path}{key}.")
        self.assertEqual(set(missing(schema, values)), {
            "controlPlane.kubeAPIQPS", "controlPlane.kubeAPIBurst",
            "controlPlane.writeGuard.enabled"})


class Monitoring(unittest.TestCase):
    ALERTS = CHART / "files" / "alerts.yaml"

    def known(self):
        return set(re.findall(r'^METRIC\(\w+, "(\w+)"', (
            ROOT / "common" / "metrics.def").read_text(), re.MULTILINE))

    def check_metrics(self, text):
        found = set(re.findall(r"\b(mokka_\w+|leader_election_\w+)\b", text))
        self.assertTrue(found)
        for name in found:
            self.assertIn(re.sub(r"_(bucket|count|sum)$", "", name), self.known())

    def test_alerts_of_the_chart(self):
        r = Rendered(control_plane(prometheusRule={"enabled": True, "labels": {"a": "b"}},
                                   leaderElection={"name": "other.lease"}))
        rule = r["PrometheusRule"]
        self.assertEqual(rule["metadata"]["labels"]["a"], "b")
        self.assertNotIn(FIXED, json.dumps(rule["spec"]))
        self.assertIn("other.lease", json.dumps(rule["spec"]))
        plain = Rendered(control_plane(prometheusRule={"enabled": True}))["PrometheusRule"]
        self.assertEqual(plain["spec"], yaml.safe_load(self.ALERTS.read_text()))
        self.check_metrics(self.ALERTS.read_text())

    def test_every_alert_is_explained(self):
        """Its annotation is the anchor of a section of its own that says more than
        nothing, and each link in that leads somewhere."""
        page = (ROOT / "docs" / "troubleshooting.md").read_text()
        sections = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-"): text
                    for heading, text in re.findall(
                        r"(?ms)^#+ ([^\n]+)\n(.*?)(?=^#|\Z)", page)}
        alerts = yaml.safe_load(self.ALERTS.read_text())["groups"][0]["rules"]
        for rule in alerts:
            where = rule["annotations"]["documentation"]
            self.assertEqual(where, f"docs/troubleshooting.md#{rule['alert'].lower()}")
            self.assertGreater(len(sections[rule["alert"].lower()].split()), 15, where)
        self.assertEqual({name for name in sections if name.startswith("mokka")},
                         {rule["alert"].lower() for rule in alerts})
        for anchor in re.findall(r"\]\(#([\w-]+)\)", page):
            self.assertIn(anchor, sections)

    def promtool(self, *words):
        got = subprocess.run([ROOT / "deploy" / "local" / "prometheus"], text=True,
                             capture_output=True, check=False)
        if got.returncode != 0:
            print(f"  skipped: {got.stderr.strip()}")
            self.skipTest(got.stderr.strip())
        return subprocess.run([f"{got.stdout.strip()}/promtool", *map(str, words)],
                              text=True, capture_output=True, check=False)

    def test_promtool_takes_the_alerts_and_they_fire(self):
        checked = self.promtool("check", "rules", self.ALERTS)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("6 rules found", checked.stdout)
        tested = self.promtool("test", "rules",
                               ROOT / "tests" / "chart" / "alerts_test.yaml")
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_the_dashboard_shows_metrics_that_there_are(self):
        r = Rendered(control_plane(dashboard={"enabled": True}))
        board = json.loads(r["ConfigMap"]["data"]["mokka.json"])
        self.assertEqual(r["ConfigMap"]["metadata"]["labels"]["grafana_dashboard"], "1")
        expressions = [t["expr"] for p in board["panels"] for t in p["targets"]]
        self.check_metrics("\n".join(expressions))
        ids = [p["id"] for p in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_a_service_monitor_finds_the_service(self):
        r = Rendered(control_plane(serviceMonitor={"enabled": True}))
        monitor = r["ServiceMonitor"]["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(),
                             r["Service"]["metadata"]["labels"].items())
        self.assertEqual(monitor["endpoints"], [
            {"port": "http", "path": "/metrics", "interval": "30s"}])


class Crds(unittest.TestCase):
    def test_X01_four_kinds_each_kept(self):
        r = Rendered(chart=CRDS)
        self.assertEqual({i["metadata"]["name"] for i in r.items}, {
            f"{plural}.mokka.nvidia.com" for plural in (
                "sgpuinventories", "sgpuracks", "sgpurackprofiles", "sgpuruntimepolicies")})
        for item in r.items:
            self.assertEqual(item["kind"], "CustomResourceDefinition")
            self.assertEqual(item["metadata"]["annotations"]["helm.sh/resource-policy"],
                             "keep")

    def test_X01_they_are_those_of_crds(self):
        rendered = {i["metadata"]["name"]: i for i in Rendered(chart=CRDS).items}
        for file in (ROOT / "crds").glob("*.yaml"):
            crd = yaml.safe_load(file.read_text())
            self.assertEqual(rendered.pop(crd["metadata"]["name"]), crd)
        self.assertEqual(rendered, {})


class Charts(unittest.TestCase):
    def test_helm_lint(self):
        done = charts.helm("lint", "--strict", CHART, CRDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_Kubernetes_below_1_28_is_refused(self):
        for chart in (CHART, CRDS):
            self.assertIn("1.28", refusal({}, "--kube-version", "1.27.16", chart=chart))
            Rendered({}, "--kube-version", "1.28.0", chart=chart)

    def test_what_is_made_from_a_source_is_as_it_says(self):
        done = subprocess.run([ROOT / "deploy" / "helm" / "refresh", "--check"], text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_versions_are_one(self):
        for chart in (CHART, CRDS):
            facts = yaml.safe_load((chart / "Chart.yaml").read_text())
            self.assertEqual((facts["version"], facts["appVersion"]),
                             (charts.VERSION, charts.VERSION))
        # The image's tag, wherever it is written out.
        for page in ("README.md", "docs/image.md", "deploy/pod.yaml"):
            tags = re.findall(r"(?:mokka-control-plane:|TAG=)(\d[\w.]*\w)", (ROOT / page).read_text())
            self.assertEqual(set(tags), {charts.VERSION}, page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
