"""Objects for tests: each builder takes only what a test is about."""

import json
from collections.abc import Iterable
from typing import Any

from glasswarden.kube.managed_fields import FieldsV1, render_step
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Path, parse_path


def an_object(
    kind: str = "apps/v1/Deployment",
    *,
    name: str = "web",
    namespace: str = "prod",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    metadata: Object | None = None,
    **fields: Any,  # noqa: ANN401 - whatever stands at the top of an object
) -> Object:
    """Return an object of *kind*, with *fields* such as ``spec`` at its top."""
    api_version, _, kind_name = kind.rpartition("/")
    meta: Object = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = labels
    if annotations:
        meta["annotations"] = annotations
    head = {"apiVersion": api_version, "kind": kind_name, "metadata": meta | (metadata or {})}
    return head | fields


def a_custom_object(**fields: Any) -> Object:  # noqa: ANN401 - whatever stands at the top
    """Return an object whose kind only its own schema knows."""
    return an_object("example.com/v1/Widget", **fields)


def a_deployment(*containers: Object, **spec: Any) -> Object:  # noqa: ANN401 - any JSON value
    """Return a Deployment with these containers, ``{"name": "app"}`` if none."""
    pods = {"spec": {"containers": list(containers) or [{"name": "app"}]}}
    return an_object(spec={"template": pods, **spec})


def a_pod(**spec: Any) -> Object:  # noqa: ANN401 - any JSON value
    """Return a Pod with this spec."""
    return an_object("v1/Pod", spec=spec)


def an_entry(
    manager: str,
    *owned: str,
    operation: str = "Update",
    time: str = "2026-03-01T10:00:00Z",
    subresource: str = "",
    api_version: str = "apps/v1",
) -> Object:
    """Return a managedFields entry for the paths that *manager* owns."""
    entry = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields_owning(map(parse_path, owned)),
    }
    return entry | ({"subresource": subresource} if subresource else {})


def managed_by(obj: Object, *entries: Object) -> Object:
    """Return a copy of *obj* with these managedFields."""
    copy: Object = json.loads(json.dumps(obj))
    copy["metadata"]["managedFields"] = list(entries)
    return copy


def fields_owning(paths: Iterable[Path]) -> FieldsV1:
    """Return the FieldsV1 that owns exactly *paths*, as the API server writes it."""
    root: FieldsV1 = {}
    owned = []
    for path in paths:
        node = root
        for step in path.steps:
            node = node.setdefault(render_step(step), {})
        owned.append(node)
    for node in owned:
        if node:
            node["."] = {}
    return root
