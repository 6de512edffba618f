# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of Kubernetes' kinds, for kubeconform, from the API description
in its sources."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PREFIX = "#/definitions/"
EITHER = {"type": ["string", "number"]}  # a quantity, a count or a percentage


def strict(schema):
    """The schema in terms that a validator knows; members that are not described
    are refused."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string":
        return EITHER
    out = {key: strict(value) for key, value in schema.items()
           if not key.startswith("x-") and not isinstance(value, str)
           or key in ("type", "$ref")}
    if "properties" in out and "additionalProperties" not in out:
        out["additionalProperties"] = False
    return out


def referred(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(PREFIX)
        for value in schema.values():
            yield from referred(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from referred(value)


def closure(name, definitions):
    """Names of all that the definition needs, itself apart."""
    found, left = set(), [name]
    while left:
        for other in referred(definitions[left.pop()]):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def file_name(kind):
    group = kind["group"].split(".")[0]
    return "-".join(filter(None, (kind["kind"], group, kind["version"]))).lower() + ".json"


def write(description, folder):
    """A file for each kind; each holds all that it refers to."""
    definitions = {name: strict(schema) for name, schema in description.items()}
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = EITHER
    for name, schema in description.items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            whole = dict(definitions[name], definitions={
                other: definitions[other] for other in closure(name, definitions)})
            (folder / file_name(kind)).write_text(json.dumps(whole))


def description(version):
    """What Kubernetes' sources say of its API.  They are a hundred times larger:
    Go downloads them, and checks them by its public list, into a folder that does
    not stay."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["go", "mod", "download", "-modcacherw", "-json", f"k8s.io/kubernetes@{version}"],
            text=True, capture_output=True, check=False, cwd=folder,
            env=dict(os.environ, GOWORK="off", GOMODCACHE=folder))
        answer = json.loads(done.stdout or "{}")
        if done.returncode != 0:
            raise OSError(answer.get("Error", done.stderr.strip()))
        file = pathlib.Path(answer["Dir"], "api", "openapi-spec", "swagger.json")
        return json.loads(file.read_text())["definitions"]


def of_version(version):
    """The folder with the schemas of v1.N.M; made once. OSError: no sources."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    folder = cache / "mokka" / f"schemas-{version}"
    if not folder.exists():
        definitions = description(version)
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
        write(definitions, new)
        try:
            new.rename(folder)
        except OSError:  # somebody else made it meanwhile
            shutil.rmtree(new)
    return folder
