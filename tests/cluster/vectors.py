# SPDX-License-Identifier: Apache-2.0
"""The schema vectors: from their notation to requests, and what is wrong with
an answer.  Member "description" of tests/vectors/schema.json explains them;
limits.json has more of the kind."""

import copy
import json
import re

from harness import ROOT

FILES = ROOT / "tests" / "vectors"


def load():
    """(bases by name, fields by kind, vectors)"""
    schema, limits = (json.loads((FILES / name).read_text(encoding="utf-8"))
                      for name in ("schema.json", "limits.json"))
    return ({name: expand(base) for name, base in schema["bases"].items()},
            schema["fields"], schema["vectors"] + limits["vectors"])


def expand(value, position=None):
    """Writes out $string, $list, $map and $i."""
    if isinstance(value, list):
        return [expand(item, position) for item in value]
    if isinstance(value, dict):
        if "$string" in value:
            text, count = value["$string"]
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
        return value.replace("${i}", str(position)).replace(
            "${i:02x}", f"{position:02x}")
    return value


def lookup(value, path):
    """(True, what is at path), or (False, None)."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, value


def edit(target, path, *value):
    """Sets what is at path, or removes it if no value is given."""
    _, parent = lookup(target, path[:-1])
    last = path[-1]
    if not value:
        del parent[last]
    elif isinstance(parent, list) and last == len(parent):
        parent.append(value[0])
    else:
        parent[last] = value[0]


def body_of(given, base, target):
    """The JSON text that a vector's input sends: the target, edited."""
    target = copy.deepcopy(target)
    for path, *value in given.get("edits", []):
        if value == ["$base"]:
            value = [copy.deepcopy(lookup(base, path)[1])]
        edit(target, path, *expand(value))
    text = json.dumps(target)
    for old, new in given.get("text", []):
        text = text.replace(old, new, 1)
    return text


def plain(field):
    """A field with map keys written as members; the server does both."""
    return re.sub(r"\[([^]0-9][^]]*)\]", r".\1", field)


def inside(field, other):
    """Whether field is other, or lies inside it."""
    return field.startswith(other) and field[len(other):len(other) + 1] in ("", ".", "[")


def error_field(cause):
    """The field that an error is about, or an empty string."""
    field = cause.get("field", "").replace("<nil>", "")
    # Where a number leaves the range of its format, the text ends with the rest.
    rest = re.search(r"with format int\d+ in (\S+)$", cause.get("message", ""))
    return plain(".".join(filter(None, [field, rest and rest.group(1)])))


def wrong_refusal(answer, fields):
    """What is wrong with the errors of a refusal, or None."""
    fields = [plain(field) for field in fields]
    causes = answer.get("details", {}).get("causes", [])
    named = {error_field(cause) for cause in causes} - {""}
    missing = [field for field in fields if field not in named]
    stray = [name for name in named if not any(
        inside(name, field) or inside(field, name) for field in fields)]
    if missing or stray:
        return (f"no error at {missing}, errors elsewhere {stray}: "
                f"{answer.get('message')}")
    return None


def wrong_answer(output, code, answer):
    """What is wrong with the answer to a vector, or None."""
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
