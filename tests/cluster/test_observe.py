# SPDX-License-Identifier: Apache-2.0
"""What a cluster's people see: metrics by promtool and a real Prometheus, and
Kubernetes Events by kubectl, with the audit log as witness of their number."""

import contextlib
import http.client
import json
import pathlib
import re
import socket
import subprocess
import time
import unittest
import urllib.parse

import harness
from harness import WORKERS, wait_for

NODES = harness.Estate.NODES
BURST = 25
POD = "control-plane-0"
POD_PATH = f"/api/v1/namespaces/{harness.NAMESPACE}/pods"
ENVIRONMENT = {"POD_NAME": POD, "POD_NAMESPACE": harness.NAMESPACE}


def wakes(pid):
    """How often the process gave its processor back, to wait."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status,
                         re.MULTILINE).group(1))


class Observe(harness.Estate):
    def setUp(self):
        super().setUp()
        for namespace in ("default", harness.NAMESPACE):
            self.cluster.api.delete(f"/api/v1/namespaces/{namespace}/events")
        self.mark = self.cluster.mark()


class Events(Observe):
    def reasons(self, namespace="default"):
        return sorted(reason for reason, _ in self.cluster.events(namespace))

    def test_12_admission_and_completion_of_an_inventory(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        wait_for("the Events", 10, lambda: self.reasons() == ["Accepted", "Programmed"])
        text = self.cluster.kubectl("describe", "sgpuinventory", "demo")
        events = text[text.index("\nEvents:"):]
        for words in (("Normal", "Accepted", "mokka-control-plane"),
                      ("Normal", "Programmed", "mokka-control-plane")):
            self.assertTrue(any(all(w in line.split() for w in words)
                                for line in events.splitlines()), events)
        listed = self.cluster.kubectl("get", "events")
        self.assertIn("sgpuinventory/demo", listed)
        # Whoever takes over a converged cluster has no news.
        time.sleep(1)
        plane.stop()
        mark = self.cluster.mark()
        plane = self.plane()
        plane.wait_ready()
        time.sleep(2)
        self.assertEqual(self.cluster.event_writes(mark), [])
        self.assertEqual(self.cluster.writes(mark), [])

    def test_12_a_refused_inventory_is_a_warning_with_the_reason(self):
        self.cluster.add_samples("inventory-54")
        self.plane()
        events = wait_for("the Event", 20, lambda: {
            reason: (event, message) for (reason, message), event
            in self.cluster.events().items() if reason == "ProfileNotFound"})
        event, message = events["ProfileNotFound"]
        self.assertEqual(event["type"], "Warning")
        self.assertIn("nvl72", message)

    def test_7_a_death_is_seen_on_the_Pod(self):
        pod = self.cluster.api.create(POD_PATH, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD},
            "spec": {"containers": [{"name": "a", "image": "none"}]}})
        self.addCleanup(self.cluster.api.delete, f"{POD_PATH}/{POD}")
        plane = self.plane(environment={**ENVIRONMENT,
                                        "POD_UID": pod["metadata"]["uid"]})
        plane.wait_ready()
        generation, _ = plane.kill("web")
        plane.wait_back("web", generation)
        wait_for("the Events", 10, lambda: self.reasons(harness.NAMESPACE) == [
            "WorkerDied", "WorkerRecovered"])
        text = self.cluster.kubectl("describe", "pod", POD, "-n", harness.NAMESPACE)
        self.assertIn("worker web died: signal 9 (Killed); it is started again", text)
        self.assertIn("worker web is ready again", text)
        listed = self.cluster.kubectl("get", "events", "-n", harness.NAMESPACE)
        self.assertRegex(listed, r"Warning +WorkerDied +pod/" + POD)
        # Twice is a count.
        plane.kill("web")
        plane.wait_back("web", generation + 1)
        wait_for("the count", 10, lambda: sorted(
            e["count"] for e in self.cluster.events(harness.NAMESPACE).values()) == [2, 2])
        self.assertIn("(x2 over", self.cluster.kubectl(
            "describe", "pod", POD, "-n", harness.NAMESPACE))

    def test_7_a_standby_tells_its_deaths_too(self):
        leader = self.plane(name="leader")
        leader.wait_ready()
        standby = self.plane(name="standby", environment=ENVIRONMENT)
        standby.wait_ready()
        generation, _ = standby.kill("placer")
        standby.wait_back("placer", generation)
        wait_for("the Events", 10, lambda: self.reasons(harness.NAMESPACE) == [
            "WorkerDied", "WorkerRecovered"])
        self.assertEqual(standby.lines(msg="acquired the lease"), [])

    def test_G06_a_storm_of_deaths_is_capped(self):
        plane = self.plane(environment=ENVIRONMENT)
        plane.wait_ready()
        deaths = 0
        for _ in range(4):
            for name in WORKERS:
                # Not the projector: its successor has a budget of its own.
                if name == "projector":
                    continue
                generation, _ = plane.kill(name)
                plane.wait_back(name, generation)
                deaths += 1
                wait_for("its Events", 5, lambda: not self.waiting(plane))
        sent = self.cluster.event_writes(self.mark)
        self.assertGreater(2 * deaths, BURST)
        self.assertEqual(len(sent), BURST)
        page = plane.metrics()
        self.assertEqual(page['mokka_events_total{fate="sent"}'], BURST)
        self.assertEqual(page['mokka_events_total{fate="capped"}'],
                         2 * deaths - BURST)

    def waiting(self, plane):
        """Deaths and recoveries that are neither sent nor capped yet."""
        time.sleep(1.1)  # a page of its own
        page = plane.metrics()
        restarts = sum(page[f'mokka_worker_restarts_total{{worker="{name}"}}']
                       for name in WORKERS)
        return 2 * restarts - sum(page[f'mokka_events_total{{fate="{fate}"}}']
                                  for fate in ("sent", "capped"))

    def test_12_without_the_right_it_is_logged_once_and_all_else_works(self):
        path = ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/"
                "mokka-control-plane-events")
        self.cluster.api.delete(path)
        self.addCleanup(self.cluster.install)
        self.declare()
        plane = self.plane()
        self.converge(plane)
        wait_for("both refusals", 10, lambda: self.cluster.event_writes(self.mark)[1:])
        self.assertEqual({e["responseStatus"]["code"]
                          for e in self.cluster.event_writes(self.mark)}, {403})
        said = [line for line in plane.lines(level="warn")
                if line["msg"].startswith("Kubernetes Events are not allowed")]
        self.assertEqual(len(said), 1)
        self.assertIn("events is forbidden", said[0]["error"])


class Metrics(Observe):
    def test_7_the_number_of_series_does_not_grow_with_the_cluster(self):
        self.declare(5)
        plane = self.plane()
        wait_for("5 Nodes", 60, lambda: len(self.cluster.projected()) == 5)
        few = wait_for("rest", 20, lambda: self.resting(plane))
        self.cluster.add_nodes(NODES - 5, prefix="more")
        self.converge(plane)
        many = wait_for("rest", 20, lambda: self.resting(plane))
        self.assertEqual(many["mokka_nodes_projected"], NODES)
        # But verbs and codes that had not been seen.
        self.assertLessEqual({s for s in set(many) - set(few)
                              if not s.startswith(("mokka_api_", "mokka_http_"))}, set())
        self.assertNotIn("sim-0", "".join(many))

    def resting(self, plane):
        time.sleep(1.1)
        page = plane.metrics()
        return page if page["mokka_converged"] == 1 else None

    def test_6_converged_means_silent_but_for_the_watchdog(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        wait_for("rest", 20, lambda: self.resting(plane))
        time.sleep(6)  # the page's connection has been ended for good
        # The elector renews, and a watch may bring a bookmark.
        silent = {name: plane.worker(name)[0] for name in ("placer", "projector", "web")}
        silent["supervisor"] = plane.pid
        before = {name: wakes(pid) for name, pid in silent.items()}
        mark = self.cluster.mark()
        time.sleep(8)
        # A PING a second for each worker, and its PONG.
        most = dict.fromkeys(silent, 8 + 2) | {"supervisor": (8 + 2) * (1 + len(WORKERS))}
        woken = {name: wakes(pid) - before[name] for name, pid in silent.items()}
        self.assertEqual({n: count for n, count in woken.items() if count > most[n]}, {})
        self.assertEqual(self.cluster.writes(mark), [])
        self.assertEqual(self.cluster.event_writes(mark), [])

    def test_7_what_it_says_of_a_converged_estate(self):
        self.declare()
        plane = self.plane()
        self.converge(plane)
        page = wait_for("rest", 20, lambda: self.resting(plane))
        for series, number in {
                "mokka_ready": 1, "mokka_converged": 1, "mokka_intents_open": 0,
                "mokka_nodes_allocated": NODES, "mokka_nodes_projected": NODES,
                "mokka_nodes_pending": 0, "mokka_nodes_conflicting": 0,
                "mokka_racks_wanted": 3, "mokka_racks_standing": 3,
                'mokka_cache_objects{kind="Node"}': NODES,
                'mokka_writes_total{action="node"}': NODES,
                'leader_election_master_status{name="control-plane.mokka.nvidia.com"}': 1,
        }.items():
            self.assertEqual(page[series], number, series)
        # The page and the audit log count alike.
        patches = sum(e["verb"] == "patch" and e["objectRef"]["resource"] == "nodes"
                      for e in self.cluster.audit(self.mark))
        self.assertEqual(page['mokka_api_requests_total'
                              '{worker="projector",verb="patch",code="200"}'], patches)
        count = sum(number for series, number in page.items() if series.startswith(
            'mokka_api_request_duration_seconds_count{worker="projector"'))
        requests = sum(number for series, number in page.items() if series.startswith(
            'mokka_api_requests_total{worker="projector"'))
        self.assertEqual(count, requests)

    def test_7_promtool_and_a_real_Prometheus_take_it(self):
        tools = self.prometheus()
        self.declare()
        plane = self.plane()
        self.converge(plane)
        text = self.page(plane)
        checked = subprocess.run([f"{tools}/promtool", "check", "metrics"], input=text,
                                 text=True, capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        port = self.scrape(tools, plane)
        found = wait_for("a scrape", 60, lambda: self.query(
            port, "mokka_nodes_projected"))
        self.assertEqual(found[0]["value"][1], str(NODES))
        up, = self.query(port, 'up{job="mokka"}')
        self.assertEqual(up["value"][1], "1")
        quantile = self.query(port, "histogram_quantile(0.5, sum by (le) ("
                              "mokka_api_request_duration_seconds_bucket))")
        self.assertGreater(float(quantile[0]["value"][1]), 0)

    def test_7_the_documentation_speaks_of_metrics_that_there_are(self):
        text = (harness.ROOT / "docs" / "metrics.md").read_text()
        known = set(re.findall(r'^METRIC\(\w+, "(\w+)"', (
            harness.ROOT / "common" / "metrics.def").read_text(), re.MULTILINE))
        for name in re.findall(r"\b(mokka_\w+|leader_\w+)\b", text):
            self.assertIn(re.sub(r"_(bucket|count|sum)$", "", name), known)

    def page(self, plane):
        connection = http.client.HTTPConnection(plane.address(), timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()

    def prometheus(self):
        got = subprocess.run([harness.LOCAL / "prometheus"], text=True,
                             capture_output=True, check=False)
        if got.returncode != 0:
            reason = (got.stderr.strip().splitlines() or ["no Prometheus here"])[-1]
            print(f"  skipped: {reason}")
            self.skipTest(reason)
        return got.stdout.strip()

    def scrape(self, tools, plane):
        """A Prometheus that scrapes it every second; its port."""
        folder = self.cluster.directory / "prometheus"
        folder.mkdir()
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "mokka", "static_configs": [
                {"targets": [plane.address()]}]}]}))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                [f"{tools}/prometheus", f"--config.file={config}",
                 f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}"],
                stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return port

    def query(self, port, expression):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode(
                    {"query": expression}))
                answer = json.loads(connection.getresponse().read())
            except (OSError, ValueError):
                return []
        return answer.get("data", {}).get("result", [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
