# SPDX-License-Identifier: Apache-2.0
"""/metrics (DESIGN 7 and 12): gathered from every worker when asked for, by the
table common/metrics.def, whatever a worker does meanwhile."""

import http.client
import re
import signal
import threading
import time
import unittest

import driver
from driver import ROLES, wait_for
from test_supervisor import SupervisorTest

ROW = re.compile(r'^METRIC\((\w+), "(\w+)", (\w+), (\w+), (\w+), (\w+), ([\w |]+), ',
                 re.MULTILINE)
TABLE = ROW.findall((driver.ROOT / "common" / "metrics.def").read_text())
FATES = ("sent", "capped", "denied", "dropped")
LABELS = {"FATE": FATES}


def metrics_of(worker):
    """What a worker tells when it is asked, as {series: number}; labels that are
    not written out here are shown by their numbers."""
    worker.control.send("MEASURE")
    role, rows = worker.control.wait("METRICS").fields
    assert role == ROLES[worker.name]
    found = {}
    for series, *numbers in rows:
        _, name, _, _, a, b, _ = TABLE[series >> 12]
        labels = [f'{label.lower()}="{LABELS[label][value] if label in LABELS else value}"'
                  for label, value in ((a, series >> 6 & 63), (b, series & 63))
                  if label != "NONE"]
        found[name + ("{%s}" % ",".join(labels) if labels else "")] = numbers[0]
    return found


def ask(plane, method="GET", path="/metrics", seconds=8):
    host, _, port = plane.address().rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def parse(text):
    return {series: float(number) for series, _, number in (
        line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))}


class Page(SupervisorTest):
    def page(self, plane):
        code, headers, text = ask(plane)
        self.assertEqual(code, 200)
        self.assertEqual(headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        return parse(text)

    def fresh(self, plane):
        """The page, and not one that was made for somebody before."""
        time.sleep(1.1)
        return self.page(plane)

    def test_every_process_is_there(self):
        plane = self.plane().wait_running()
        page = self.page(plane)
        for name in ("supervisor",) + driver.WORKERS:
            self.assertEqual(page[f'mokka_worker_up{{worker="{name}"}}'], 1)
            self.assertEqual(page[f'mokka_worker_generation{{worker="{name}"}}'], 1)
            self.assertEqual(page[f'mokka_worker_restarts_total{{worker="{name}"}}'], 0)
            self.assertGreater(
                page[f'mokka_worker_resident_memory_bytes{{worker="{name}"}}'], 1 << 20)
            started = page[f'mokka_worker_start_time_seconds{{worker="{name}"}}']
            self.assertLess(abs(time.time() - started), 120)
        for name in driver.WORKERS:
            self.assertEqual(page[f'mokka_worker_responded{{worker="{name}"}}'], 1)
            self.assertGreater(page['mokka_link_received_bytes_total'
                                    f'{{worker="{name}",peer="supervisor"}}'], 0)

    def test_every_metric_of_the_table_but_what_never_happened_is_there(self):
        plane = self.plane().wait_running()
        plane.wait_ready()
        _, _, text = ask(plane)
        for _, name, kind, _, _, _, _ in TABLE:
            if name != "mokka_shadow_writes":  # of a shadow
                self.assertIn(f"# TYPE {name} {kind.lower()}\n", text)

    def test_other_methods_are_405(self):
        plane = self.plane().wait_running()
        for method in ("POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
            code, headers, _ = ask(plane, method)
            self.assertEqual((code, headers["Allow"]), (405, "GET"), method)

    def test_a_death_is_seen_in_the_next_page(self):
        plane = self.plane().wait_running()
        generation, _ = plane.kill("placer")
        plane.wait_back("placer", generation)
        page = self.fresh(plane)
        self.assertEqual(page['mokka_worker_restarts_total{worker="placer"}'], 1)
        self.assertEqual(page['mokka_worker_generation{worker="placer"}'], 2)
        # web itself counts anew, and says so.
        generation, _ = plane.kill("web")
        plane.wait_back("web", generation)
        page = self.page(plane)
        self.assertEqual(page['mokka_worker_restarts_total{worker="web"}'], 1)

    def test_a_worker_that_hangs_is_missing_and_named(self):
        plane = self.plane().wait_running()
        plane.kill("informer", signal.SIGSTOP)
        page = self.fresh(plane)
        self.assertEqual(page['mokka_worker_responded{worker="informer"}'], 0)
        self.assertEqual(page['mokka_worker_responded{worker="placer"}'], 1)
        self.assertNotIn("mokka_feed_pending_objects", page)
        self.assertIn("mokka_converged", page)
        plane.kill("informer", signal.SIGCONT)
        page = self.fresh(plane)
        self.assertEqual(page['mokka_worker_responded{worker="informer"}'], 1)
        self.assertIn("mokka_feed_pending_objects", page)

    def test_many_who_ask_at_once_cost_one_gathering(self):
        plane = self.plane().wait_running()
        before = self.fresh(plane)
        time.sleep(1.1)
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(ask(plane)[0]))
                   for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(codes, [200] * 20)
        after = self.fresh(plane)
        asked = [page['mokka_link_received_frames_total'
                      '{worker="placer",peer="supervisor"}'] for page in (before, after)]
        # One for the twenty, or two if they came slowly, and one for the last.
        self.assertLessEqual(asked[1] - asked[0], 4)
        answered = 'mokka_http_requests_total{path="/metrics",code="200"}'
        self.assertEqual(after[answered] - before.get(answered, 0), 21)

    def test_web_dies_while_somebody_waits(self):
        plane = self.plane().wait_running()
        plane.kill("placer", signal.SIGSTOP)
        errors = []

        def wait():
            try:
                ask(plane)
            except (OSError, http.client.HTTPException) as error:
                errors.append(error)
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.3)
        generation, _ = plane.kill("web")
        thread.join()
        self.assertEqual(len(errors), 1)
        plane.kill("placer", signal.SIGCONT)
        plane.wait_back("web", generation)
        self.page(plane)

    def test_a_stop_answers_those_who_wait(self):
        plane = self.plane().wait_running()
        plane.kill("placer", signal.SIGSTOP)
        codes = []
        thread = threading.Thread(target=lambda: codes.append(ask(plane)[0]))
        thread.start()
        time.sleep(0.2)
        plane.kill("placer", signal.SIGCONT)
        self.assertEqual(plane.stop(), 0)
        thread.join()
        self.assertEqual(codes, [200])


class Alone(driver.WorkerTest):
    """web under a supervisor that does not do its part."""

    def page(self, worker):
        return ask(type("Plane", (), {"address": staticmethod(
            lambda: "127.0.0.1:%d" % worker.listener.getsockname()[1])}))

    def test_nobody_answers(self):
        worker = self.start("web").wire()
        code, _, text = self.page(worker)
        self.assertEqual((code, text), (200, ""))

    def test_metrics_that_are_none_end_the_link(self):
        for fields in ([], [1], [9, []], [0, [[1 << 40, 1]]], [2, [[0, 1]]]):
            with self.subTest(fields=fields):
                worker = self.start("web").wire()
                worker.control.send("METRICS", *fields)
                self.assertTrue(worker.control.ended())

    def test_metrics_that_nobody_asked_for_change_nothing(self):
        worker = self.start("web").wire()
        ready = next(i for i, row in enumerate(TABLE) if row[0] == "READY") << 12
        worker.control.send("METRICS", 0, [[ready, 1]])
        worker.control.send("MEASURING", [1, 2, 3])
        worker.control.wait_read()
        self.assertEqual(self.page(worker)[2].count("mokka_ready 1"), 0)


class Cheat(SupervisorTest):
    def test_a_worker_that_tells_what_is_not_its_own_loses_its_link(self):
        number = next(i for i, row in enumerate(TABLE) if row[0] == "READY") << 12
        for role, series in ((ROLES["web"], number), (ROLES["placer"], number)):
            with self.subTest(role=role):
                data = driver.frame("METRICS", role, [[series, 1]])
                plane = self.plane(fake={"placer": ("sends", self.build, data)})
                wait_for("its end", 10, lambda p=plane: p.lines(
                    msg="control link ended", worker="placer"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
