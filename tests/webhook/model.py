"""A model of the API server with both webhooks before it: pure, and with a clock of its own.

Writes take the way that they take in a cluster: the mutating webhook where its conditions ask for
it and it is up, then the validating one, then the store, which moves the resourceVersion.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from glasswarden.keys.ring import Ring
from glasswarden.kube.objects import annotations_of, labels_of, metadata_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import OpenGrants, notes_of
from glasswarden.policy.breakglass.tokens import Stamp
from glasswarden.policy.case import Case
from glasswarden.policy.policy import Policy
from glasswarden.policy.stamping import annotations_for
from glasswarden.policy.types import Actor, Operation
from tests.policy.breakglass.builders import RING
from tests.policy.builders import NOW, Answered, answered
from tests.webhook.builders import FLUX_LABELS, Object
from webhook.context import Tally, recipient_of
from webhook.mutation import patch_of, sign_annotations
from webhook.review import Options, Request, Resource, UserInfo
from webhook.write_builder import write_of

Texts = Mapping[str, str | None]
"""Annotations by their short names; nothing takes one off."""

APPLIERS: Final = frozenset({"kustomize-controller", "applier"})
"""Field managers that write by server-side apply."""


@dataclass
class Server:
    """An API server, its objects, and Glasswarden."""

    policy: Policy
    ring: Ring = RING
    now: datetime = NOW
    up: bool = True
    """Whether the mutating webhook answers; it fails open."""
    calls: int = 1
    """How often it is called about one write: again, where another has changed something."""
    open: OpenGrants | None = None
    """How many grants are open; without it, those that were given here are counted."""
    tally: Tally = field(default_factory=Tally)
    objects: dict[str, Object] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """Every token that anybody could have laid hands on."""
    _version: int = 100

    def put(self, obj: Object) -> None:
        """Store *obj* without asking anybody."""
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self.objects[obj["metadata"]["name"]] = obj

    def pass_(self, **time: float) -> None:
        """Let time pass."""
        self.now += timedelta(**time)

    def terminate(self, name: str = "web") -> None:
        """Have the object deleted, while a finalizer keeps it."""
        obj = self.objects[name]
        obj["metadata"] |= {"deletionTimestamp": "2026-03-01T12:00:00Z", "finalizers": ["x/y"]}
        self.put(obj)

    def annotations(self, name: str = "web") -> dict[str, str]:
        """Return our annotations on the object, by their short names."""
        found = annotations_of(self.objects[name])
        return {
            key.removeprefix(names.PREFIX): text
            for key, text in found.items()
            if key.startswith(names.PREFIX)
        }

    def live(self, name: str = "web") -> Stamp | None:
        """Return the grant that is in force on the object."""
        obj = self.objects[name]
        notes = notes_of(obj, self.ring)
        return notes.live_grant(self.policy.cluster, metadata_of(obj)["uid"], self.now)

    def annotate(
        self, actor: Actor, texts: Texts | None = None, name: str = "web", **more: str | None
    ) -> Answered:
        """Write annotations of ours, and nothing else."""
        return self.update(actor, name, texts={**(texts or {}), **more})

    def update(
        self,
        actor: Actor,
        name: str = "web",
        *,
        texts: Texts | None = None,
        spec: Mapping[str, Any] | None = None,
        labels: Mapping[str, str | None] | None = None,
        dry_run: bool = False,
        manager: str = "kubectl-edit",
    ) -> Answered:
        """Update an object, or apply to it as one of `APPLIERS`; return the verdict."""
        old = self.objects[name]
        new = copy.deepcopy(old)
        _edit(new, "annotations", {f"{names.PREFIX}{key}": t for key, t in (texts or {}).items()})
        _edit(new, "labels", labels or {})
        new.setdefault("spec", {}).update(spec or {})
        if manager in APPLIERS:
            _own(new, manager, texts or {})
        else:
            _take(new, manager, annotations_of(old))
        return self._submit(actor, new, dry_run=dry_run, manager=manager)

    def disown(self, actor: Actor, name: str = "web") -> Answered:
        """Wipe who owns which field, as anybody can; return the verdict."""
        new = copy.deepcopy(self.objects[name])
        new["metadata"].pop("managedFields", None)
        return self._submit(actor, new)

    def _submit(
        self, actor: Actor, new: Object, *, dry_run: bool = False, manager: str = "kubectl-edit"
    ) -> Answered:
        old = self.objects[new["metadata"]["name"]]
        request = _request(Operation.UPDATE, actor, old, new, dry_run=dry_run, manager=manager)
        if self.up and self._is_asked(old, new):
            for _ in range(self.calls):
                self._mutate(request, new)
        self.seen += _tokens(new)
        decision = self._decide(request)
        if decision.allowed and not dry_run:
            self.put(new)
        return decision

    def delete(self, actor: Actor, name: str = "web") -> Answered:
        """Delete an object; return the verdict."""
        decision = self._decide(_request(Operation.DELETE, actor, self.objects[name], None))
        if decision.allowed:
            del self.objects[name]
        return decision

    def scale(self, actor: Actor, replicas: int, name: str = "web") -> Answered:
        """Scale an object through its subresource; return the verdict."""
        parent = self.objects[name]
        old, new = ({"spec": {"replicas": n}} for n in (parent["spec"]["replicas"], replicas))
        request = _request(Operation.UPDATE, actor, old, new, subresource="scale")
        decision = self._decide(request, parent)
        if decision.allowed:
            stored = copy.deepcopy(parent)
            stored["spec"]["replicas"] = replicas
            _trace_scale(stored)
            self.put(stored)
        return decision

    def _is_asked(self, old: Object, new: Object) -> bool:
        """Tell what the conditions of the mutating entries say."""
        marks = {names.REASON, names.GRANT}
        within = self.objects.get(metadata_of(old).get("namespace", ""), {})
        if labels_of(within).get(names.ACTIVE) == "true":
            return True
        return not (marks.isdisjoint(annotations_of(old)) and marks.isdisjoint(annotations_of(new)))

    def _mutate(self, request: Request, new: Object) -> None:
        case = self._case(request)
        self._version += 1
        annotations = annotations_for(case, f"grant-{self._version}")
        signed = sign_annotations(annotations, self.ring, self.now)
        for edit in patch_of(new, signed, case.write):
            _apply(new, edit)

    def _decide(self, request: Request, parent: Object | None = None) -> Answered:
        case = self._case(request, parent)
        decision = answered(case)
        if decision.allowed and not case.write.dry_run:
            self.tally.note(decision.grant, case.write)
        return decision

    def _case(self, request: Request, parent: Object | None = None) -> Case:
        subject = parent or request.old_object or {}
        namespace = self.objects.get(metadata_of(subject).get("namespace", ""))
        write = write_of(request, self.policy, parent, ring=self.ring, namespace=namespace)
        case = Case(write, self.policy, self.now)
        person = recipient_of(case)
        if person is None:
            return case
        return case.with_open_grants(self.open or self.tally.count(person, write, self.now))


def a_server(policy: Policy) -> Server:
    """Return a server with Flux's Deployments web and api in the unmanaged Namespace shop."""
    server = Server(policy)
    server.put(a_namespace())
    for name, uid in (("web", "0b6f9e0c"), ("api", "77aa01b2")):
        server.put(a_deployment(name, uid))
    return server


def a_namespace() -> Object:
    """Return the Namespace shop, which nobody manages."""
    metadata = {"name": "shop", "uid": "ns-1", "labels": {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def a_deployment(name: str, uid: str) -> Object:
    """Return one of Flux's Deployments."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid,
            "labels": dict(FLUX_LABELS),
            "annotations": {"example.com/team": "shop"},
        },
        "spec": {"replicas": 3, "paused": False},
    }


def _request(
    operation: Operation,
    actor: Actor,
    old: Object | None,
    new: Object | None,
    *,
    subresource: str = "",
    dry_run: bool = False,
    manager: str = "kubectl-edit",
) -> Request:
    return Request(
        uid="705ab4f5",
        operation=operation,
        user_info=UserInfo(actor.name, actor.uid, actor.groups, {"x": tuple(actor.extra)}),
        resource=Resource("apps", "v1", "deployments"),
        sub_resource=subresource,
        object=new,
        old_object=old,
        dry_run=dry_run,
        options=Options(manager),
    )


def _edit(obj: Object, field_name: str, texts: Mapping[str, str | None]) -> None:
    found = obj["metadata"].setdefault(field_name, {})
    for name, text in texts.items():
        if text is None:
            found.pop(name, None)
        else:
            found[name] = text


def _trace_scale(obj: Object) -> None:
    """Put down that the replicas are who scales: the API server does, and gives no time."""
    entries = metadata_of(obj).setdefault("managedFields", [])
    for entry in entries:
        entry["fieldsV1"].get("f:spec", {}).pop("f:replicas", None)
    entries[:] = [each for each in entries if each.get("subresource") != "scale"]
    entries.append(
        {
            "manager": "kubectl",
            "operation": "Update",
            "subresource": "scale",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
    )


def _own(obj: Object, manager: str, texts: Texts) -> None:
    """Put down what *manager* applies, as the API server does before it asks any webhook.

    What it applied before, and applies no longer, goes.
    """
    owned: Object = {
        f"f:{names.PREFIX}{key}": {} for key, text in texts.items() if text is not None
    }
    entries = metadata_of(obj).get("managedFields", [])
    others = [
        each for each in entries if (each["manager"], each["operation"]) != (manager, "Apply")
    ]
    for entry in (each for each in entries if each not in others):
        for key in entry["fieldsV1"]["f:metadata"]["f:annotations"].keys() - owned.keys():
            obj["metadata"]["annotations"].pop(key.removeprefix("f:"), None)
    fields = {"f:metadata": {"f:annotations": owned}}
    applied = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    obj["metadata"]["managedFields"] = [*others, applied]


def _take(obj: Object, manager: str, before: Mapping[str, object]) -> None:
    """Put down what *manager* changes of our annotations by a plain update."""
    now = annotations_of(obj)
    changed: Object = {
        f"f:{name}": {}
        for name in names.ANNOTATIONS
        if now.get(name) not in (None, before.get(name))
    }
    if changed:
        fields = {"f:metadata": {"f:annotations": changed}}
        entry = {"manager": manager, "operation": "Update", "fieldsV1": fields}
        obj["metadata"].setdefault("managedFields", []).append(entry)


def _apply(obj: Object, edit: Mapping[str, Any]) -> None:
    """Make one operation of a JSON Patch, as strictly as the API server does."""
    *parents, last = (
        part.replace("~1", "/").replace("~0", "~") for part in edit["path"].split("/")[1:]
    )
    target = obj
    for part in parents:
        target = target[part]
    if edit["op"] == "add":
        target[last] = copy.deepcopy(edit["value"])
    else:
        del target[last]


def _tokens(obj: Object) -> list[str]:
    found = annotations_of(obj)
    return [found[name] for name in (names.GRANT, names.REQUEST) if name in found]
