# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# common.sh - what the scripts here share; sourced, never run.
#
# A cluster is a folder DIR:
#   .mokka-node         marks the folder as ours
#   unshare.pid         the process whose end ends the whole cluster
#   cgroups             the cgroups that are its own, one on a line
#   pki/, *.conf        keys, and kubeconfigs of its parts
#   kubeconfig          of the administrator, for use inside (deploy/local/node/in)
#   ready               it is
#   audit.log, NAME.log what the parts say
#   root/var/log/pods   logs of the pods

NODE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly NODE
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$NODE/../common.sh"

readonly NODE_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/mokka/node
readonly NODE_NAME=node1
readonly NODE_ADDRESS=172.31.0.2
readonly PAUSE_IMAGE=localhost/pause:1

# cluster DIR: print the whole path of a cluster's folder.
cluster() {
    [ -e "$1/.mokka-node" ] || die "$1 was not made by deploy/local/node/up"
    (cd "$1" && pwd)
}

# first_process DIR: print the pid, as seen from here, of the cluster's PID 1.
first_process() {
    local parent child
    parent=$(running "$1" unshare) || return 1
    read -r child _ <"/proc/$parent/task/$parent/children" || true
    [ -n "${child:-}" ] || return 1
    echo "$child"
}
