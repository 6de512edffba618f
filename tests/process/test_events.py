# SPDX-License-Identifier: Apache-2.0
"""Kubernetes Events (DESIGN 7 and 12): what the projector sends of what it is
told, an API server that refuses them, and the lives of workers seen from
outside."""

import pathlib
import signal
import tempfile
import time
import unittest

import driver
import api
from api import status
from driver import ROLES, wait_for
from test_metrics import metrics_of
from test_supervisor import SupervisorTest

POD = {"pod_name": "cp-0", "pod_namespace": "mokka-system", "pod_uid": "pod-uid"}
POD_EVENTS = "/api/v1/namespaces/mokka-system/events"
INVENTORY = 1
BURST = 25


def news(name="lab", reason="Accepted", message="it fits", warning=False):
    return [[name, "uid-" + name, "7"], INVENTORY, warning, reason, message, "Admit"]


class Events(driver.WorkerTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.api = api.Api()
        self.addCleanup(self.api.close)
        self.kubeconfig = self.api.kubeconfig(pathlib.Path(folder.name) / "config")

    def projector(self, **options):
        worker = self.start("projector").wire(kubeconfig=self.kubeconfig, **options)
        worker.links["placer"].wait("WRITTEN_END")
        return worker

    def asked(self, method="", namespace="default"):
        return [r for r in self.api.asked(method or "P")
                if r.path.startswith(f"/api/v1/namespaces/{namespace}/events")]

    def kept(self):
        with self.api.lock:
            return list(self.api.objects["events"].values())

    def fates(self, worker):
        return {key[key.index('"') + 1:-2]: int(number)
                for key, number in metrics_of(worker).items()
                if key.startswith("mokka_events_total")}

    def test_an_inventorys_Event_and_one_more_of_its_kind(self):
        worker = self.projector()
        link = worker.links["placer"]
        link.send("EVENT", *news())
        event, = wait_for("the Event", 10, self.kept)
        self.assertEqual(event["involvedObject"], {
            "apiVersion": "mokka.nvidia.com/v1alpha1", "kind": "SGPUInventory",
            "name": "lab", "uid": "uid-lab"})
        self.assertEqual((event["type"], event["reason"], event["message"],
                          event["action"], event["count"]),
                         ("Normal", "Accepted", "it fits", "Admit", 1))
        self.assertEqual(event["reportingComponent"], "mokka.nvidia.com/control-plane")
        self.assertEqual(event["source"], {"component": "mokka-control-plane"})
        link.send("EVENT", *news())
        wait_for("the count", 10, lambda: self.kept()[0]["count"] == 2)
        self.assertEqual([r.method for r in self.asked()], ["POST", "PATCH"])
        self.assertEqual(self.fates(worker),
                         {"sent": 2, "capped": 0, "denied": 0, "dropped": 0})

    def test_Events_need_no_Lease_and_deaths_are_told_on_a_standby(self):
        worker = self.projector(**POD)  # the lease page shows no term
        worker.control.send("WORKER_DIED", ROLES["web"], 1, "signal 9 (Killed)", False)
        worker.control.send("WORKER_BACK", ROLES["web"])
        wait_for("both Events", 10, lambda: len(self.kept()) == 2)
        died, back = self.kept()
        self.assertEqual((died["type"], died["reason"], died["message"]),
                         ("Warning", "WorkerDied",
                          "worker web died: signal 9 (Killed); it is started again"))
        self.assertEqual((back["type"], back["reason"], back["message"]),
                         ("Normal", "WorkerRecovered", "worker web is ready again"))
        for event in died, back:
            self.assertEqual(event["involvedObject"], {
                "apiVersion": "v1", "kind": "Pod", "name": "cp-0", "uid": "pod-uid",
                "namespace": "mokka-system"})
            self.assertEqual(event["metadata"]["namespace"], "mokka-system")
            self.assertEqual(event["reportingInstance"], "cp-0")

    def test_without_POD_NAME_no_Event_about_a_Pod(self):
        worker = self.projector()
        worker.control.send("WORKER_DIED", ROLES["web"], 1, "signal 9 (Killed)", False)
        worker.control.send("WORKER_BACK", ROLES["web"])
        worker.links["placer"].send("EVENT", *news())
        wait_for("the other Event", 10, self.kept)
        self.assertEqual(len(self.api.asked("POST")), 1)

    def test_deaths_that_nobody_could_hear_of_are_one_Event_with_their_number(self):
        worker = self.projector(**POD)
        worker.control.send("WORKER_DIED", ROLES["placer"], 4, "exit status 1", True)
        event, = wait_for("the Event", 10, self.kept)
        self.assertEqual((event["count"], event["reason"], event["action"]),
                         (4, "WorkerGivenUp", "Stop"))

    def test_G06_a_storm_of_deaths_is_25_requests(self):
        worker = self.projector(**POD)
        for number in range(60):
            # The worst pace: each comes when the one before has been dealt with.
            worker.control.send("WORKER_DIED", ROLES["web"], 1, "signal 9", False)
            wait_for("the storm", 10, lambda n=number: sum(
                self.fates(worker).values()) == n + 1)
        self.assertEqual(self.fates(worker), {
            "sent": BURST, "capped": 60 - BURST, "denied": 0, "dropped": 0})
        self.assertEqual(len(self.asked(namespace="mokka-system")), BURST)
        # The inventory has a budget of its own.
        worker.links["placer"].send("EVENT", *news())
        wait_for("its Event", 10, lambda: len(self.kept()) == 2)

    def test_G06_what_comes_at_once_is_one_Event(self):
        worker = self.projector(**POD)
        for _ in range(300):
            worker.control.send("WORKER_DIED", ROLES["web"], 1, "signal 9", False)
        wait_for("all of it", 10, lambda: [e["count"] for e in self.kept()] == [300])
        self.assertLessEqual(len(self.asked(namespace="mokka-system")), BURST)

    def test_403_is_said_once_and_costs_nothing_else(self):
        self.api.answer("POST /api/v1/namespaces/default/events",
                        status(403, "Forbidden", "events is forbidden"))
        worker = self.projector()
        for number in range(5):
            worker.links["placer"].send("EVENT", *news(f"lab-{number}"))
        wait_for("five refusals", 10, lambda: self.fates(worker)["denied"] == 5)
        self.assertEqual(len(self.asked()), 5)  # none is tried again
        said = [line for line in worker.output().splitlines()
                if "Kubernetes Events are not allowed" in line]
        self.assertEqual(len(said), 1, worker.output())
        self.assertIn("events is forbidden", said[0])
        self.assertTrue(worker.alive())
        # Once it is allowed, the next one goes through.
        self.api.behave()
        worker.links["placer"].send("EVENT", *news("lab-0"))
        wait_for("the Event", 10, self.kept)

    def test_429_is_tried_again_as_late_as_Retry_After_says(self):
        # Nothing is said for 10 s at least; the test has no patience for more.
        self.api.answer("POST /api/v1/namespaces/default/events",
                        status(429, "TooManyRequests", retry_after=11), times=1)
        worker = self.projector()
        worker.links["placer"].send("EVENT", *news())
        worker.links["placer"].send("EVENT", *news("other"))
        wait_for("the refusal", 10, lambda: self.asked() and self.asked()[0].status == 429)
        wait_for("both Events", 20, lambda: len(self.kept()) == 2)
        first, again, other = self.asked("POST")
        self.assertGreaterEqual(again.time - first.time, 11)
        self.assertEqual(first.json(), again.json())
        self.assertNotEqual(other.json()["involvedObject"], again.json()["involvedObject"])

    def test_a_stop_waits_for_the_Event_under_way(self):
        worker = self.projector(**POD)
        self.api.answer("POST " + POD_EVENTS, self.slowly)
        worker.control.send("WORKER_DIED", ROLES["web"], 1, "exit status 1", True)
        wait_for("the request", 10, lambda: self.asked(namespace="mokka-system"))
        self.assertEqual(worker.stop(), (True, 0))
        self.assertEqual(len(self.kept()), 1)

    @staticmethod
    def slowly(exchange):
        time.sleep(0.5)
        exchange.serve()

    def test_an_EVENT_that_is_none_ends_the_link(self):
        for fields in ([], news("")[:5], [["lab", "u", "1"], 9, False, "A", "b", "c"],
                       [["", "u", "1"], 1, False, "A", "b", "c"]):
            with self.subTest(fields=fields):
                worker = self.projector()
                worker.links["placer"].send("EVENT", *fields)
                self.assertEqual(worker.control.wait("LINK_BROKEN").fields[0],
                                 ROLES["placer"])


class Lives(SupervisorTest):
    """Deaths as the supervisor sees them."""

    def setUp(self):
        self.server = api.Api()
        self.addCleanup(self.server.close)

    def kept(self):
        with self.server.lock:
            return sorted((e["reason"], e["message"], e["count"])
                          for e in self.server.objects["events"].values())

    def pod(self, **options):
        return self.plane("--pod-name", "cp-0", "--pod-namespace", "mokka-system",
                          server=self.server, **options)

    def told(self, name, count=1):
        return [("WorkerDied", f"worker {name} died: signal 9 (Killed); "
                 "it is started again", count),
                ("WorkerRecovered", f"worker {name} is ready again", count)]

    def test_death_and_recovery_of_each_worker_the_projector_included(self):
        plane = self.pod().wait_running()
        wanted = []
        for name in driver.WORKERS:
            generation, _ = plane.kill(name)
            plane.wait_back(name, generation)
            wanted += self.told(name)
            wait_for(f"the Events of {name}", 10, lambda: self.kept() == sorted(wanted))
        self.assertEqual(plane.stop(), 0)
        self.assertEqual(self.kept(), sorted(wanted))  # a stop is no death

    def test_what_happens_while_the_projector_is_away_is_told_later(self):
        plane = self.pod().wait_running()
        generation, _ = plane.kill("projector", signal.SIGSTOP)
        plane.kill("web")
        plane.wait_back("web", 1)
        plane.kill("projector")
        plane.wait_back("projector", generation)
        # The one who could not read took the news of web with it.
        wait_for("the Events", 10, lambda: set(self.told("projector")) <= set(self.kept()))

    def test_a_worker_that_is_given_up_is_told_before_the_end(self):
        plane = self.pod(fake={"web": ("dies",)})
        self.last_line(plane, seconds=90)
        reasons = [reason for reason, _, _ in self.kept()]
        self.assertIn("WorkerGivenUp", reasons)
        self.assertIn("WorkerDied", reasons)
        self.assertNotIn("WorkerRecovered", reasons)


if __name__ == "__main__":
    unittest.main(verbosity=2)
