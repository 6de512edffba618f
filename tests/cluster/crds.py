# SPDX-License-Identifier: Apache-2.0
"""For tests of crds/ on a real API server: the cluster, requests with their
answers, and full objects of each kind."""

import copy
import json
import unittest

import harness
import vectors
from harness import GROUP, ROOT, wait_for

CRDS = ROOT / "crds"
PROFILE, INVENTORY, RACK, POLICY = KINDS = (
    "SGPURackProfile", "SGPUInventory", "SGPURack", "SGPURuntimePolicy")
PLURALS = {PROFILE: "sgpurackprofiles", INVENTORY: "sgpuinventories",
           RACK: "sgpuracks", POLICY: "sgpuruntimepolicies"}
BASES, FIELDS, VECTORS = vectors.load()
FULL = {base["kind"]: base for name, base in BASES.items()
        if name in ("profile", "inventory", "rack", "policy")}


def fields_of(schema, path=""):
    """(field, its schema) of all that lies below."""
    for name, member in schema.get("properties", {}).items():
        field = f"{path}.{name}" if path else name
        yield field, member
        yield from fields_of(member, field)
    for below, suffix in ("items", "[]"), ("additionalProperties", ".*"):
        if below in schema:
            yield path + suffix, schema[below]
            yield from fields_of(schema[below], path + suffix)


class Server:
    """One kept connection, as the administrator."""

    def __init__(self, api):
        self.connection = api.connect()

    def ask(self, method, path, body=None, kind="application/json",
            accept="application/json"):
        """Status code and decoded answer; body is JSON, or text that is."""
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        self.connection.request(method, path, body and body.encode(),
                                {"Content-Type": kind, "Accept": accept})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


class Crds(unittest.TestCase):
    cluster = server = None

    def crd(self, kind):
        code, crd = self.server.ask(
            "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
            f"{PLURALS[kind]}.mokka.nvidia.com")
        self.assertEqual(code, 200)
        return crd

    def schema(self, kind):
        return self.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    @staticmethod
    def path(item, rest=""):
        return f"{GROUP}/{PLURALS[item['kind']]}/{item['metadata']['name']}{rest}"

    def named(self, item, name=None):
        """A copy with a name of this test's."""
        item = copy.deepcopy(item)
        item["metadata"]["name"] = name or self.id().rsplit(".", 1)[1].lower().replace("_", "-")
        return item

    def create(self, item):
        code, answer = self.server.ask(
            "POST", f"{GROUP}/{PLURALS[item['kind']]}?fieldValidation=Strict", item)
        self.assertEqual(code, 201, answer.get("message"))
        self.addCleanup(self.server.ask, "DELETE", self.path(item))
        return answer

    def ask(self, wanted, *request, **options):
        code, answer = self.server.ask(*request, **options)
        self.assertEqual(code, wanted, answer.get("message"))
        return answer

    def put(self, item, rest=""):
        return self.ask(200, "PUT", self.path(item, rest), item)

    def merge(self, item, patch, rest=""):
        return self.ask(200, "PATCH", self.path(item, rest), patch,
                        kind="application/merge-patch+json")

    def stored(self, kind):
        """A full object, its status written too; as it was sent and as it is."""
        item = self.named(FULL[kind])
        if kind == INVENTORY:
            item["status"]["conditions"][0].update(
                type="Programmed", status="False", reason="RacksPending")
        stored = self.create(item)
        if "status" in item:
            self.assertNotIn("status", stored)
            stored = self.put(dict(stored, status=item["status"]), "/status")
        return item, stored

    def tries(self, base, path, accepted=(), refused=(), field=None):
        """Puts each value at path of the base (... removes what is there), in dry
        runs. field: where the error must be, by default at path."""
        base = BASES[base] if isinstance(base, str) else base
        where = field or "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
        for good, values in (True, accepted), (False, refused):
            for value in values:
                item = self.named(base)
                vectors.edit(item, path, *[] if value is ... else [value])
                with self.subTest(field=where, value=str(value)[:80]):
                    code, answer = self.server.ask(
                        "POST", f"{GROUP}/{PLURALS[item['kind']]}?dryRun=All", item)
                    self.assertEqual(code, 201 if good else 422, answer.get("message"))
                    if not good:
                        self.assertIsNone(vectors.wrong_refusal(answer, [where]))


def start():
    """For setUpModule: the cluster of this module's tests."""
    Crds.cluster = cluster = harness.Cluster(audit="None")
    unittest.addModuleCleanup(cluster.down)
    cluster.install()
    Crds.server = Server(cluster.api)
    for plural in PLURALS.values():
        wait_for(f"{plural} to be served", 20, lambda p=plural:
                 Crds.server.ask("GET", f"{GROUP}/{p}")[0] == 200)
