# SPDX-License-Identifier: Apache-2.0
"""Who owns which label and annotation of an object: managedFields, as far as
server-side apply and plain edits of metadata need them.

metadata is never changed; what changed comes back as a copy.
"""

GROUPS = ("labels", "annotations")


def keys_of(entry):
    """{(group, key)} of an entry of managedFields."""
    metadata = entry.get("fieldsV1", {}).get("f:metadata", {})
    return {(group, field[2:]) for group in GROUPS
            for field in metadata.get("f:" + group, {})}


def entry(manager, operation, keys, version="v1"):
    fields = {}
    for group, key in sorted(keys):
        fields.setdefault("f:" + group, {})["f:" + key] = {}
    return {"manager": manager, "operation": operation, "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": fields}}


def wanted_keys(wanted):
    return {(group, key) for group in GROUPS for key in wanted.get(group, {})}


def is_of(item, manager, operation):
    return (item["manager"], item["operation"]) == (manager, operation)


def conflicts(metadata, manager, wanted):
    """The causes of a refusal: keys that others own with another value."""
    causes = []
    for item in metadata.get("managedFields", []):
        if is_of(item, manager, "Apply"):
            continue
        for group, key in sorted(keys_of(item) & wanted_keys(wanted)):
            if metadata.get(group, {}).get(key) != wanted[group][key]:
                causes.append({
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "{item["manager"]}" using v1',
                    "field": f".metadata.{group}.{key}"})
    return causes


def rebuilt(metadata, values, entries):
    return {**metadata, **values,
            "managedFields": [item for item in entries if keys_of(item)]}


def applied(metadata, manager, wanted):
    """After an apply that meets no conflict, or is forced."""
    entries = metadata.get("managedFields", [])
    mine = [item for item in entries if is_of(item, manager, "Apply")]
    others = [item for item in entries if not is_of(item, manager, "Apply")]
    held = set().union(*map(keys_of, others))
    values = {group: dict(metadata.get(group, {})) for group in GROUPS}
    for group, key in set().union(*map(keys_of, mine)) - wanted_keys(wanted) - held:
        values[group].pop(key, None)
    for group in GROUPS:
        values[group].update(wanted.get(group, {}))
    return rebuilt(metadata, values,
                   others + [entry(manager, "Apply", wanted_keys(wanted))])


def edited(metadata, manager, changes):
    """After a plain update: who changes a value owns it alone."""
    values = {group: dict(metadata.get(group, {})) for group in GROUPS}
    gained, lost = set(), set()
    for group in GROUPS:
        for key, value in changes[group].items():
            if value is None:
                values[group].pop(key, None)
                lost.add((group, key))
            elif values[group].get(key) != value:
                values[group][key] = value
                gained.add((group, key))
    entries = []
    for item in metadata.get("managedFields", []):
        if is_of(item, manager, "Update"):
            gained |= keys_of(item) - lost
        else:
            entries.append({**item, **entry(
                item["manager"], item["operation"], keys_of(item) - gained - lost,
                item["apiVersion"])} if keys_of(item) else item)
    # An entry of other fields is left as it is.
    entries = [e for e in entries if keys_of(e) or e in metadata.get("managedFields", [])]
    return {**metadata, **values, "managedFields": entries + (
        [entry(manager, "Update", gained)] if gained else [])}


def shared(metadata, manager, keys):
    """After somebody applied the values that stand: an owner beside the others."""
    return {**metadata, "managedFields": metadata.get("managedFields", []) + [
        entry(manager, "Apply", keys)]}
