# SPDX-License-Identifier: Apache-2.0
"""The chart with real pods, in a namespace that takes only restricted ones: from
helm install --wait to nothing left (README.md, docs/operating.md)."""

import json
import pathlib
import sys
import unittest

import node
from node import LEASE, NAMESPACE, NODES, ROOT, wait_for

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "chart"))
import charts  # noqa: E402
import manual  # noqa: E402
import test_pod  # noqa: E402

DEPLOYMENT = "deployment/mokka-control-plane"
MANAGER = "mokka-controller"
OURS = ("deployments,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets,"
        "jobs,pods,clusterroles,clusterrolebindings,validatingadmissionpolicies,"
        "validatingadmissionpolicybindings")


class Release(unittest.TestCase):
    def setUp(self):
        self.node = node.Node()
        self.addCleanup(self.node.down)

    def quick_start(self):
        """What the README tells a newcomer, word by word."""
        shell = test_pod.Shell(self.node, ROOT, "sh")
        self.addCleanup(shell.end)
        shell.run(f"export PATH={charts.tools()}:$PATH "
                  f"REPOSITORY=localhost/mokka-control-plane TAG={charts.VERSION}")
        count = 0
        for line, shown in manual.commands(" start", "README.md"):
            printed = shell.run(line)
            count += 1
            if not manual.is_shown(shown, printed):
                self.fail(f"$ {line}\n--- shown\n{shown}--- printed\n{printed}")
        self.assertGreater(count, 12)

    def helm(self, *words, status=0):
        """stdout and stderr, in one."""
        return "".join(self.node.run(f"{charts.tools()}/helm", *map(str, words),
                                     "--namespace", NAMESPACE, status=status))

    def holder(self):
        return self.node.get("lease", LEASE)["spec"]["holderIdentity"].partition("_")[0]

    def versions(self):
        """Of everything that an upgrade must leave alone.  Nodes have others who
        write them, the one that taints those without a kubelet, say: of these it
        is when we wrote last."""
        items = self.node.get("nodes,sgpuracks,sgpuinventories", "--show-managed-fields")["items"]
        return {(i["kind"], i["metadata"]["name"]):
                i["metadata"]["resourceVersion"] if i["kind"] != "Node" else [
                    (m["time"], m["fieldsV1"]) for m in i["metadata"]["managedFields"]
                    if m["manager"] == MANAGER]
                for i in items}

    def left(self):
        return self.node.kubectl("get", OURS, "-o", "name", "-l",
                                 "app.kubernetes.io/instance=mokka").split()

    def test_3_from_install_to_nothing_left(self):
        values = self.node.directory / "values.json"
        values.write_text(json.dumps({"controlPlane": {
            "image": {"repository": "localhost/mokka-control-plane"},
            "uninstallGuard": {"enabled": True}}}))
        self.quick_start()  # which leaves no trace; a cluster takes minutes to make
        self.assertEqual(self.node.kubectl("get", "crd", "-o", "name"), "")
        self.node.kubectl("config", "set-context", "--current", "--namespace", NAMESPACE)
        self.node.kubectl("create", "namespace", NAMESPACE)
        self.node.kubectl("label", "namespace", NAMESPACE,
                          "pod-security.kubernetes.io/enforce=restricted")
        self.assertEqual(self.left(), [])
        self.node.run(f"{charts.tools()}/helm", "install", "mokka-crds", str(charts.CRDS))
        self.helm("install", "mokka", charts.CHART, "--values", values, "--wait",
                  "--timeout", "2m")
        self.node.add_nodes()
        wait_for("the Nodes", 60, lambda: self.node.projected() == NODES)
        self.node.kubectl("wait", "--for=condition=Programmed", "sinv/demo", "--timeout=60s")
        self.assertIn("Succeeded", self.helm("test", "mokka", "--logs"))
        standing = self.versions()
        self.assertEqual(sum(kind == "Node" and bool(writes) for (kind, _), writes
                             in standing.items()), NODES)
        self.two_replicas()
        self.leader_goes()
        self.helm("rollback", "mokka", "1", "--wait", "--timeout", "2m")
        self.assertEqual(self.versions(), standing)
        self.assertIn("drained", self.helm("uninstall", "mokka", "--wait", status=1))
        self.assertIn("SGPUInventory demo", self.node.kubectl(
            "logs", "job/mokka-control-plane-drained"))
        self.node.kubectl("delete", "sgpuinventories", "--all", "--wait", "--timeout=15m")
        self.helm("uninstall", "mokka", "--wait")
        wait_for("nothing to be left", 60, lambda: self.left() == [
            "pod/mokka-control-plane-check"] or self.left() == [])
        self.assertEqual(self.node.projected(), 0)
        self.assertEqual(len(self.node.get("crd")["items"]), 4)

    def two_replicas(self):
        self.helm("upgrade", "mokka", charts.CHART, "--reuse-values", "--wait", "--timeout",
                  "2m", "--set", "controlPlane.replicas=2",
                  "--set", "controlPlane.podDisruptionBudget.enabled=true")
        pods = self.node.get("pods", "-l", "app.kubernetes.io/component=control-plane")
        self.assertEqual(len([p for p in pods["items"]
                              if "deletionTimestamp" not in p["metadata"]]), 2)

    def leader_goes(self):
        leader = self.holder()
        self.node.kubectl("delete", "pod", leader, "--wait=false")
        wait_for("another leader", 40, lambda: self.holder() not in ("", leader))
        self.node.kubectl("rollout", "status", DEPLOYMENT, "--timeout=120s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
