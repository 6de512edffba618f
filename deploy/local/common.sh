# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# common.sh - what up, user and down share; sourced, never run.
#
# A cluster is a folder DIR:
#   .mokka-local        marks the folder as ours; up and user lock it
#   pki/                certificate authority and keys
#   data/               etcd's data
#   port                port of the API server on 127.0.0.1
#   etcd.pid, kube-apiserver.pid    what runs; both have DIR as working folder
#   etcd.log, kube-apiserver.log, audit.log
#   kubeconfig, NAME.kubeconfig     of the administrator, and of other users

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*"; exit 1; }

# running DIR PROGRAM: print the pid of DIR's PROGRAM, fail when it does not
# run. A pid that belongs to somebody else by now counts as not running.
running() {
    local pid
    pid=$(cat "$1/$2.pid" 2>/dev/null) || return 1
    [ -n "$pid" ] &&
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] &&
        [ "/proc/$pid/cwd" -ef "$1" ] || return 1
    echo "$pid"
}

# stop_program DIR PROGRAM: TERM, KILL after 5 s; harmless when not running.
stop_program() {
    local pid tries
    if pid=$(running "$1" "$2"); then
        kill "$pid" 2>/dev/null || true
        for ((tries = 0; tries < 50; tries++)); do
            running "$1" "$2" >/dev/null || break
            sleep 0.1
        done
        if running "$1" "$2" >/dev/null; then
            kill -KILL "$pid" 2>/dev/null || true
            while running "$1" "$2" >/dev/null; do sleep 0.1; done
        fi
    fi
    rm -f "$1/$2.pid"
}

# stop_cluster DIR: the API server first; without etcd it would hang.
stop_cluster() {
    stop_program "$1" kube-apiserver
    stop_program "$1" etcd
}

# sign DIR NAME SUBJECT EXTENSIONS: make pki/NAME.key and pki/NAME.crt.
sign() {
    local base=$1/pki/$2
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" \
        -keyout "$base.key" -out "$base.csr" 2>/dev/null
    openssl x509 -req -in "$base.csr" -CA "$1/pki/ca.crt" -CAkey "$1/pki/ca.key" \
        -set_serial "0x$(openssl rand -hex 16)" -days 365 -extfile <(echo "$4") \
        -out "$base.crt" 2>/dev/null
    rm "$base.csr"
}

# write_kubeconfig DIR FILE USER CREDENTIALS: CREDENTIALS are the members of a
# kubeconfig user, in YAML's flow style.
write_kubeconfig() {
    cat >"$2.new" <<EOF
apiVersion: v1
kind: Config
clusters:
  - name: mokka-local
    cluster:
      server: https://127.0.0.1:$(cat "$1/port")
      certificate-authority: "$1/pki/ca.crt"
users:
  - name: "$3"
    user: {$4}
contexts:
  - name: mokka-local
    context: {cluster: mokka-local, user: "$3"}
current-context: mokka-local
EOF
    mv "$2.new" "$2"
}

# write_certificate_kubeconfig DIR FILE USER NAME: with pki/NAME.{crt,key}.
write_certificate_kubeconfig() {
    write_kubeconfig "$1" "$2" "$3" \
        "client-certificate: \"$1/pki/$4.crt\", client-key: \"$1/pki/$4.key\""
}
