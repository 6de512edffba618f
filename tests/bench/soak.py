# SPDX-License-Identifier: Apache-2.0
"""Many events on the watches of one informer, and what its resident memory is
before and after: objects that come, change and go, in both encodings, and a
reader that takes what it is sent."""

import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))
import driver  # noqa: E402
import api  # noqa: E402

NODES = 1000
RACKS = 100
WARM = 300000  # events until buffers and the heap have their size
GROWTH = 0.02


def blocks(server, plural, items):
    """Rounds of events, as bytes: all change, and half of them go and come."""
    def event(kind, item, version, value):
        meta = {**item["metadata"], "resourceVersion": str(version)}
        meta["labels"] = {**meta.get("labels", {}), "value": value}
        return server.event(plural, kind, {**item, "metadata": meta})

    half = items[:len(items) // 2]
    rounds = [[("MODIFIED", i) for i in items], [("MODIFIED", i) for i in items],
              [("DELETED", i) for i in half], [("ADDED", i) for i in half]]
    return [(b"".join(event(kind, item, 1000 + number, f"v{number}" * 8)
                      for kind, item in events), len(events))
            for number, events in enumerate(rounds)]


class Soak:
    def __init__(self, folder):
        self.server = api.Api(streaming=True)
        for number in range(NODES):
            self.server.put("nodes", api.node(f"node-{number:04d}", zone="z" * 20))
        for number in range(RACKS):
            self.server.put("sgpuracks", {
                "metadata": {"name": f"rack-{number:03d}"},
                "spec": {"identity": {"rackIndex": number}, "nodes": [
                    {"index": i, "gpus": [{"index": 0}]} for i in range(18)]}})
        self.worker = driver.Worker("informer", preset="release").wire(
            kubeconfig=self.server.kubeconfig(folder / "config"))
        self.reader = self.worker.links["placer"].socket
        self.worker.links["placer"].send("SUBSCRIBE", [0, 1, 2, 3], 0, 0)
        threading.Thread(target=self.read, daemon=True).start()
        self.sent = NODES + RACKS  # the streaming lists
        self.taken(self.sent)
        driver.wait_for("the watches", 20, lambda: all(
            self.server.watches[p] for p in ("nodes", "sgpuracks")))
        self.blocks = {p: blocks(self.server, p, list(self.server.objects[p].values()))
                       for p in ("nodes", "sgpuracks")}

    def read(self):
        """Takes what the placer would be sent."""
        self.reader.settimeout(None)
        while self.reader.recv(1 << 20):
            pass

    def taken(self, count):
        """Waits until the informer has seen so many events."""
        facts = {"events": 0}
        while facts["events"] < count:
            facts = self.worker.control.wait("STATE", 60).fields[2]
        return facts

    def send(self, events):
        end = self.sent + events
        while self.sent < end:
            for number in range(4):
                for plural in ("nodes", "sgpuracks"):
                    data, count = self.blocks[plural][number]
                    self.server.say(plural, data)
                    self.sent += count
        return self.taken(self.sent)

    def resident(self):
        """In kB, once what is under way has been passed on, and given back: as the
        supervisor does, it is asked each second whether it is there."""
        for _ in range(3):
            self.worker.control.send("PING")
            time.sleep(1)
        for line in pathlib.Path(f"/proc/{self.worker.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")


def main():
    events = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(pathlib.Path(folder))
        soak.send(WARM)
        before = soak.resident()
        began = time.monotonic()
        facts = soak.send(events)
        took = time.monotonic() - began
        after = soak.resident()
        print(f"{facts['events']} events, {events / took:.0f} a second; "
              f"resident before {before} kB, after {after} kB "
              f"({(after - before) / before * 100:+.1f} %)")
        assert (facts["nodes"], facts["racks"], facts["bad"]) == (NODES, RACKS, 0), facts
        soak.worker.control.send("STOP")
        soak.worker.wait()
        soak.worker.close()
        soak.server.close()
    return 0 if after <= before * (1 + GROWTH) else 1


if __name__ == "__main__":
    sys.exit(main())
