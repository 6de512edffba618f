#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that a real API server reads crds/ as it should.

usage:   tests/cluster/crds_test.py [VECTORS]
input:   KUBECONFIG of an administrator (deploy/local/up starts a server and
         makes one), and kubectl in PATH;
         VECTORS (default tests/vectors/schema.json), whose member
         "description" tells what each vector means
output:  a line for each failure, then "N passed, N failed"
exit:    0 all passed; 1 not; 2 the checks could not be made

The CRDs are applied and stay. Vectors are sent as dry runs, so nothing is
stored but the objects that updates go over. Objects that have the names of the
vectors' bases are deleted before and after.
"""

import base64
import copy
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CRDS = os.path.join(ROOT, "crds")
GROUP = "/apis/mokka.nvidia.com/v1alpha1/"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"


class Unusable(Exception):
    """The checks cannot be made."""


def kubectl(*arguments):
    """Run kubectl; give its output, or end with what it complained about."""
    run = subprocess.run(["kubectl", *arguments], capture_output=True, text=True)
    if run.returncode:
        raise Unusable(f"kubectl {' '.join(arguments)}: {run.stderr.strip()}")
    return run.stdout


class Server:
    """One kept connection to the API server of the current context."""

    def __init__(self):
        config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:
            for part in "client-certificate-data", "client-key-data":
                pair.write(base64.b64decode(user[part]))
            pair.flush()
            context.load_cert_chain(pair.name)
        address = urllib.parse.urlparse(cluster["server"])
        self.connection = http.client.HTTPSConnection(address.hostname, address.port, context=context)

    def request(self, method, path, body=None):
        """Give status code and decoded answer; body is JSON text."""
        self.connection.request(method, path, body and body.encode(),
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


# Vectors: from their notation to a request.

def expand(value, position=None):
    """Write out $string, $list, $map and $i in value."""
    if isinstance(value, list):
        return [expand(item, position) for item in value]
    if isinstance(value, dict):
        if "$string" in value:
            count, text = value["$string"][1], value["$string"][0]
            return text * count
        if "$list" in value:
            count, item = value["$list"]
            return [expand(item, i) for i in range(count)]
        if "$map" in value:
            count, item = value["$map"]
            return {f"k{i}": expand(item, i) for i in range(count)}
        return {key: expand(item, position) for key, item in value.items()}
    if position is not None and isinstance(value, str):
        if value == "$i":
            return position
        return value.replace("${i}", str(position)).replace("${i:02x}", f"{position:02x}")
    return value


def lookup(value, path):
    """Give (True, what is at path), or (False, None)."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, value


def edit(target, path, *value):
    """Set what is at path, or remove it if no value is given."""
    _, parent = lookup(target, path[:-1])
    last = path[-1]
    if not value:
        del parent[last]
    elif isinstance(parent, list) and last == len(parent):
        parent.append(value[0])
    else:
        parent[last] = value[0]


def body_of(vector, base, version):
    """Give the JSON text that vector sends; version is of the stored base."""
    target = copy.deepcopy(base)
    if version:
        target["metadata"]["resourceVersion"] = version
    for path, *value in vector["input"].get("edits", []):
        if value == ["$base"]:
            value = [copy.deepcopy(lookup(base, path)[1])]
        edit(target, path, *expand(value))
    text = json.dumps(target)
    for old, new in vector["input"].get("text", []):
        text = text.replace(old, new, 1)
    return text


# Answers: what is wrong with them.

def plain(field):
    """Give field with map keys written as members; the server does both."""
    return re.sub(r"\[([^]0-9][^]]*)\]", r".\1", field)


def inside(field, other):
    """Whether field is other, or lies inside it."""
    return field.startswith(other) and field[len(other):len(other) + 1] in ("", ".", "[")


def error_field(cause):
    """Give the field that an error is about, or an empty string."""
    field = cause.get("field", "").replace("<nil>", "")
    # Where a number leaves the range of its format, the text ends with the rest.
    rest = re.search(r"with format int\d+ in (\S+)$", cause.get("message", ""))
    return plain(".".join(filter(None, [field, rest and rest.group(1)])))


def wrong_refusal(answer, fields):
    """Give what is wrong with the errors of a refusal, or None."""
    fields = [plain(field) for field in fields]
    named = {error_field(cause) for cause in answer.get("details", {}).get("causes", [])} - {""}
    missing = [field for field in fields if field not in named]
    stray = [name for name in named
             if not any(inside(name, field) or inside(field, name) for field in fields)]
    if missing or stray:
        return f"no error at {missing}, errors elsewhere {stray}: {answer.get('message')}"
    return None


def wrong_answer(output, code, answer):
    """Give what is wrong with the answer to a vector, or None."""
    if output["result"] == "deny":
        if code != output["code"]:
            return f"answered {code}, wanted {output['code']}: {answer.get('message')}"
        return wrong_refusal(answer, output["fields"]) if "fields" in output else None
    if code not in (200, 201):
        return f"answered {code}: {answer.get('message')}"
    for path, *value in output.get("object", []):
        there, found = lookup(answer, path)
        if not value and there:
            return f"{path} is there: {found}"
        if value and (not there or json.dumps(found, sort_keys=True) !=
                      json.dumps(expand(value[0]), sort_keys=True)):
            return f"{path} is {found}, wanted {expand(value[0])}"
    return None


# The schema itself.

def fields_of(schema, path):
    """Yield (field, description) of all that lies below path."""
    for name, member in schema.get("properties", {}).items():
        field = f"{path}.{name}" if path else name
        yield field, member.get("description")
        yield from fields_of(member, field)
    for below, suffix in ("items", "[]"), ("additionalProperties", ".*"):
        if below in schema:
            yield from fields_of(schema[below], path + suffix)


def wrong_schema(server, plural, fields):
    """Give what is wrong with the fields of a kind, or None."""
    _, crd = server.request("GET", f"{CRD_PATH}{plural}.mokka.nvidia.com")
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = {field: text for field, text in fields_of(root, "")
             if inside(field, "spec") or inside(field, "status")}
    silent = [field for field, text in found.items() if not text]
    if not root.get("description"):
        silent.append("the kind itself")
    if set(found) != set(fields) or silent:
        return (f"missing {sorted(set(fields) - set(found))}, not wanted "
                f"{sorted(set(found) - set(fields))}, without description {silent}")
    return None


class Run:
    """The checks of one run, and their results."""

    def __init__(self, server, vectors):
        self.server, self.vectors = server, vectors
        self.bases = {name: expand(base) for name, base in vectors["bases"].items()}
        self.passed = self.failed = 0
        # Plural of each kind that is served; path and version of each stored base.
        self.plurals, self.stored = {}, {}

    def report(self, what, wrong):
        """Count a check; wrong is None or the reason of a failure."""
        if wrong is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {what}: {wrong[:2000]}")

    def install(self):
        """Apply the CRDs and wait until they are served."""
        for name in sorted(os.listdir(CRDS)):
            if name.endswith(".yaml"):
                kubectl("apply", "-f", os.path.join(CRDS, name))
                kubectl("wait", "--for=condition=Established", "--timeout=30s",
                        "crd", name[:-len(".yaml")] + ".mokka.nvidia.com")
        for _ in range(100):
            code, answer = self.server.request("GET", GROUP.rstrip("/"))
            if code == 200:
                self.plurals = {r["kind"]: r["name"] for r in answer["resources"]
                                if "/" not in r["name"]}
                if set(self.vectors["fields"]) <= set(self.plurals):
                    return
            time.sleep(0.1)
        raise Unusable("the server does not serve all kinds 10 s after the CRDs were applied")

    def path_of(self, base):
        """Give the path of an object."""
        return f"{GROUP}{self.plurals[base['kind']]}/{base['metadata']['name']}"

    def clean(self):
        """Delete what is stored under the names of the bases."""
        for base in self.bases.values():
            self.server.request("DELETE", self.path_of(base))

    def store(self, name):
        """Create the base of updates once; give its path and version."""
        if name not in self.stored:
            base = self.bases[name]
            path = self.path_of(base)
            code, answer = self.server.request("POST", os.path.dirname(path), json.dumps(base))
            if code != 201:
                raise Unusable(f"cannot create {path}: {answer.get('message')}")
            self.stored[name] = (path, answer["metadata"]["resourceVersion"])
        return self.stored[name]

    def vector(self, vector):
        """Send one vector and check the answer."""
        given = vector["input"]
        base = self.bases[given["base"]]
        operation = given.get("op", "create")
        if operation == "create":
            method, path, version = "POST", os.path.dirname(self.path_of(base)), None
        else:
            path, version = self.store(given["base"])
            method, path = "PUT", path + ("/status" if operation == "status" else "")
        path += "?dryRun=All" + ("&fieldValidation=Strict" if given.get("strict") else "")
        code, answer = self.server.request(method, path, body_of(vector, base, version))
        self.report(f"{vector['id']} ({vector['note']})",
                    wrong_answer(vector["output"], code, answer))

    def sample(self, name):
        """Check that a sample is accepted, unknown fields being refused."""
        try:
            kubectl("apply", "--dry-run=server", "-f", os.path.join(CRDS, "samples", name))
            self.report(name, None)
        except Unusable as wrong:
            self.report(name, str(wrong))

    def all(self):
        """Make every check."""
        self.install()
        self.clean()
        try:
            for kind, fields in self.vectors["fields"].items():
                self.report(f"fields of {kind}", wrong_schema(self.server, self.plurals[kind], fields))
            # Creations first: a name may not be taken by what updates go over.
            for vector in sorted(self.vectors["vectors"], key=lambda v: "op" in v["input"]):
                self.vector(vector)
        finally:
            self.clean()
        for name in sorted(os.listdir(os.path.join(CRDS, "samples"))):
            self.sample(name)


def main():
    """Give the exit status."""
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests/vectors/schema.json")
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    try:
        run = Run(Server(), vectors)
        run.all()
    except Unusable as reason:
        print(f"crds_test: {reason}", file=sys.stderr)
        return 2
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
