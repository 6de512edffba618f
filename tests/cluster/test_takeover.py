# SPDX-License-Identifier: Apache-2.0
"""A cluster that changes hands: what stands is not written again, whoever wrote
it, and a rolling upgrade loses and doubles nothing."""

import os
import subprocess
import time
import unittest

import harness
import original
import replicas
from harness import wait_for
from replicas import A, B, Load, Probe, ReplicaTest, Witness, gaps, mutations, overlaps


class Standing(ReplicaTest):
    """Nothing but the Lease is written."""

    QUIET = 3  # seconds in which whatever would be written, is written

    def converge(self, nodes=60):
        replicas.declare(self.cluster, 200)
        replicas.create_nodes(self.cluster, nodes)
        leader = self.replica(A)
        wait_for("convergence", 60, lambda: len(self.cluster.projected()) == nodes
                 and self.cluster.converged("large"))
        time.sleep(self.QUIET)
        self.stands = original.snapshot(self.cluster)
        return leader

    def check_silent(self, mark, *users):
        time.sleep(self.QUIET)
        asked = mutations(self.cluster, users or (A, B), mark)
        self.assertEqual([w for w in asked if w.begin >= self.began], [])
        self.assertEqual(original.snapshot(self.cluster), self.stands)

    def test_1_taken_over_after_a_release_by_one_that_starts_then(self):
        leader = self.converge()
        self.assertEqual(leader.stop(), 0)
        self.began, mark = time.time(), self.cluster.mark()
        follower = self.replica(B)
        follower.wait_ready()
        follower.wait_leading()
        self.check_silent(mark)

    def test_1_taken_over_after_a_death_by_one_that_stood_by(self):
        leader = self.converge()
        standby = self.replica(B)
        standby.wait_reason(leader.identity(), status=200)
        self.began, mark = leader.kill_tree(), self.cluster.mark()
        standby.wait_leading()
        standby.wait_ready()
        self.check_silent(mark)

    def test_1_taken_over_from_the_original(self):
        original.check(self)
        original.Original(self.cluster)
        self.stands = original.snapshot(self.cluster)
        self.began, mark = time.time(), self.cluster.mark()
        replica = self.replica(A)
        replica.wait_ready()
        replica.wait_leading()
        self.check_silent(mark, A)
        # It is at work all the same: a Node that goes is noticed.
        self.cluster.api.delete("/api/v1/nodes/worker-0-0")
        wait_for("the slot to be given up", 20, lambda: len(
            self.cluster.projected_slots()[0]) == 3)

    def test_1_given_back_to_the_original(self):
        """What it finds is what it would have written itself, in its name, and a
        Lease that nobody holds."""
        original.check(self)
        estate = original.Declared(self.cluster)
        replica = self.replica(A)
        nodes = range(estate.RACKS * estate.per_rack)
        wait_for("convergence", 60, lambda: len(self.cluster.projected()) == len(nodes)
                 and self.cluster.converged(estate.given["inventoryName"]))
        self.assertEqual(replica.stop(), 0)
        self.assertEqual(replicas.holder(self.cluster), "")
        racks = self.cluster.api.items(f"{harness.GROUP}/sgpuracks")
        self.assertEqual(len(racks), estate.RACKS)
        for rack in racks:
            self.check_as_the_original(estate, rack)

    def check_as_the_original(self, estate, rack):
        index = rack["spec"]["identity"]["rackIndex"]
        meta = estate.inventory["metadata"]
        name, spec = original.render(meta["name"], meta["uid"],
                                     estate.profile["metadata"], index)
        for slot, bound in zip(spec["nodes"], rack["spec"]["nodes"]):
            slot["nodeRef"] = bound["nodeRef"]
            self.check_node(estate.projection(rack, slot), slot["nodeRef"])
        self.assertEqual((rack["metadata"]["name"], rack["spec"]), (name, spec))
        wanted = estate.rack_metadata(index)
        self.assertEqual({k: rack["metadata"][k] for k in wanted}, wanted)
        self.assertEqual({m["manager"] for m in rack["metadata"]["managedFields"]
                          if "f:spec" in m["fieldsV1"]}, {"mokka-controller"})

    def check_node(self, wanted, ref):
        node = self.cluster.api.get(f"/api/v1/nodes/{ref['name']}")["metadata"]
        self.assertEqual(node["uid"], ref["uid"])
        for kind, entries in wanted.items():
            self.assertEqual({k: node[kind][k] for k in entries}, entries)
        owner, = {(m["manager"], m["operation"]) for m in node["managedFields"]
                  if f"f:{harness.ASSIGNMENT}" in m["fieldsV1"]["f:metadata"].get(
                      "f:annotations", {})}
        self.assertEqual(owner, ("mokka-controller", "Apply"))

    def test_1_what_would_be_taken_over_is_known_before(self):
        """The commands of docs/migrating.md, by somebody who may read."""
        original.Original(self.cluster)
        page = (harness.ROOT / "docs" / "migrating.md").read_text()
        look = page.split("## Look first")[1].split("```sh\n")[1].split("```")[0]
        self.assertEqual(self.shell(look), (0, ""))
        path = "/api/v1/nodes/worker-0-0"
        self.cluster.api.merge(path, {"metadata": {"labels": {
            "mokka.nvidia.com/sgpu-node": None}}})
        status, said = self.shell(look)
        self.assertEqual(status, 2)
        self.assertIn("release slot 0 Node worker-0-0", said)

    def shell(self, commands):
        """(exit status, what was printed)"""
        path = f"{harness.PROGRAM.parent}:{self.cluster.bin}:{os.environ['PATH']}"
        done = subprocess.run(
            commands, shell=True, text=True, stdout=subprocess.PIPE, check=False,
            cwd=self.cluster.directory,
            env=dict(os.environ, PATH=path, KUBECONFIG=self.cluster.kubeconfig))
        return done.returncode, done.stdout


class Rolling(ReplicaTest):
    def test_Z07_rolling_upgrade_under_load(self):
        """Two of the old, one new at a time, as a Deployment does it."""
        replicas.declare(self.cluster, 2000)
        witness = Witness(self.cluster)
        self.addCleanup(witness.close)
        load = Load(self.cluster, pause=0.01, leaving=0.2)
        self.addCleanup(load.enough.set)
        old = list(self.pair())
        probe = Probe(*old, pause=0.01)
        self.addCleanup(probe.enough.set)
        self.wait_writes(A, 50)
        users = {A, B}
        for number in range(2):
            user = f"replica-new-{number}"
            replicas.admit(self.cluster, user)
            users.add(user)
            new = self.replica(user)
            new.wait_ready()
            probe.replicas.append(new)
            gone = old.pop(0)
            self.assertEqual(gone.stop(), 0)
            probe.replicas.remove(gone)
            others, mark = users - {gone.user}, self.cluster.mark()
            wait_for("writes of another", 20, lambda o=others, m=mark: mutations(
                self.cluster, o, m))
        time.sleep(1)
        self.wait_projected(load)
        for seen in probe.stop():
            self.assertIn(200, seen.values())
        writes = mutations(self.cluster, users, self.mark)
        self.assertEqual(overlaps(writes), [])
        print(f"  gaps in writing: {', '.join(f'{gap:.2f} s' for gap in gaps(writes))}")
        self.assertGreaterEqual(len(gaps(writes)), 1)
        self.assertLess(max(gaps(writes)), 2)
        self.assertEqual(witness.wrong, [])
        self.assertEqual(witness.twice(), [])
        self.assertEqual(set(witness.changes) & set(load.present), set(load.present))


if __name__ == "__main__":
    unittest.main(verbosity=2)
