"""Write `glasswarden/kube/builtin_types.py` anew from Kubernetes' own OpenAPI document.

    python -m tests.kube.renew_builtin_types api/openapi-spec/swagger.json 1.36

The table keeps what a comparison needs and drops everything else: how a list's items are told
apart, which values are quantities, which are int-or-string, and the types on the way there.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path("glasswarden/kube/builtin_types.py")

Schema = dict[str, Any]
Fields = dict[str, tuple[str, str]]
"""By field: how it holds values (empty, `*` for a map, or a list type) and what type they have."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
UNSTORED = ("authentication.k8s.io", "authorization.k8s.io")
"""Requests in the shape of objects: nobody can change them afterwards."""

HEADER = '''\
"""The types of Kubernetes {version}, as far as a comparison of two objects needs them.

Written by `tests/kube/renew_builtin_types.py` from the API's OpenAPI document; do not edit by hand.

    apps/v1 Deployment              a kind, and the types of its fields
        spec        DeploymentSpec
    Container                       a type that kinds share
        args        atomic          a list that is replaced as a whole
        env         [name] EnvVar   a list whose items are identified by their name
        ...
    ObjectMeta
        finalizers  set             a list of distinct values
    ResourceRequirements
        limits      *quantity       a map whose values are quantities
"""

from typing import Final

BUILTIN_TYPES: Final = """\\
'''


def main() -> None:
    """Write the table for the document and the version named on the command line."""
    document, version = sys.argv[1:]
    definitions = json.loads(Path(document).read_text(encoding="utf-8"))["definitions"]
    TARGET.write_text(render(definitions, version), encoding="utf-8")


def render(definitions: dict[str, Schema], version: str) -> str:
    """Return the module's text."""
    kinds = dict(kinds_of(definitions))
    types = prune(types_below(definitions, kinds))
    shared = {name: fields for name, fields in types.items() if fields and name not in kinds}
    names = short_names(shared)
    blocks = [*kind_blocks(kinds, types, names), *type_blocks(shared, names)]
    return HEADER.format(version=version) + "".join(blocks) + '"""\n'


def kinds_of(definitions: dict[str, Schema]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the definition of each stored kind, with its (apiVersion, kind) pairs."""
    for name, schema in definitions.items():
        meta = schema.get("properties", {}).get("metadata", {})
        served = schema.get("x-kubernetes-group-version-kind", [])
        pairs = [
            ("/".join(filter(None, (each["group"], each["version"]))), each["kind"])
            for each in served
            if each["group"] not in UNSTORED
        ]
        if pairs and target_of(meta) == META:
            yield name, pairs


def types_below(definitions: dict[str, Schema], roots: dict[str, Any]) -> dict[str, Fields]:
    """Return the fields of every type that *roots* reach, atomic lists closing the way."""
    types: dict[str, Fields] = {}
    todo = [META, *roots]
    while todo:
        name = todo.pop()
        if name in types or name in SCALARS.values():
            continue
        properties = definitions[name].get("properties", {})
        types[name] = {
            field: holding_of(schema)
            for field, schema in properties.items()
            # A status is noise, and what is not told here is learned from managedFields.
            if (name not in roots or field not in ("metadata", "status"))
            and (name, field) != (META, "managedFields")
        }
        todo += [target for _, target in types[name].values() if target]
    return types


def holding_of(schema: Schema) -> tuple[str, str]:
    """Return how *schema* holds values, and their type where that matters."""
    if schema.get("type") == "array":
        match schema.get("x-kubernetes-list-type"):
            case "map":
                keys = ",".join(schema["x-kubernetes-list-map-keys"])
                return f"[{keys}]", target_of(schema["items"])
            case "set":
                return "set", ""
            case _:
                return "atomic", ""
    if "additionalProperties" in schema:
        held, target = holding_of(schema["additionalProperties"])
        return f"*{held}", target
    return "", target_of(schema)


def target_of(schema: Schema) -> str:
    """Return the name of the definition that *schema* refers to."""
    name: str = schema.get("$ref", "").removeprefix("#/definitions/")
    return SCALARS.get(name, name)


def prune(types: dict[str, Fields]) -> dict[str, Fields]:
    """Drop what says nothing, until everything left says something."""
    while True:
        told = {name for name, fields in types.items() if fields} | set(SCALARS.values())
        pruned = {
            name: {
                field: (held, target if target in told else "")
                for field, (held, target) in fields.items()
                if held not in ("", "*") or target in told
            }
            for name, fields in types.items()
        }
        if pruned == types:
            return types
        types = pruned


def short_names(types: dict[str, Fields]) -> dict[str, str]:
    """Name each type by its last part; versions that differ keep their version in front."""
    by_short = defaultdict(list)
    for name in sorted(types):
        by_short[last_part(name)].append(name)
    names = {name: last_part(name) for name in types}
    while clashing := [
        name
        for group in by_short.values()
        for name in group
        if names[name] == last_part(name) and len({named(types[each], names) for each in group}) > 1
    ]:
        names |= {name: qualified(name) for name in clashing}
    return names


def named(fields: Fields, names: dict[str, str]) -> frozenset[tuple[str, str, str]]:
    """Return *fields* with the names that the table will show."""
    return frozenset((each, held, names.get(to, to)) for each, (held, to) in fields.items())


def last_part(name: str) -> str:
    """Return `DeviceClaim` for the definition's full name."""
    return name.rpartition(".")[2]


def qualified(name: str) -> str:
    """Return `v1beta1.DeviceClaim` for the definition's full name."""
    return ".".join(name.split(".")[-2:])


def kind_blocks(
    kinds: dict[str, list[tuple[str, str]]], types: dict[str, Fields], names: dict[str, str]
) -> Iterator[str]:
    """Yield the block of each kind, core group first."""
    served = [(*pair, name) for name, pairs in kinds.items() for pair in pairs]
    for api_version, kind, name in sorted(served, key=lambda each: ("/" in each[0], each)):
        yield block(f"{api_version} {kind}", types[name], names)


def type_blocks(types: dict[str, Fields], names: dict[str, str]) -> Iterator[str]:
    """Yield the block of each type that kinds share."""
    by_name = {names[name]: fields for name, fields in types.items()}
    for short, fields in sorted(by_name.items()):
        yield block(short, fields, names)


def block(title: str, fields: Fields, names: dict[str, str]) -> str:
    """Return one entry of the table."""
    lines = [
        f"    {field} {held}{' ' if held.endswith(']') else ''}{names.get(target, target)}".rstrip()
        for field, (held, target) in sorted(fields.items())
    ]
    return "\n".join([title, *lines, ""])


if __name__ == "__main__":
    main()
