"""Argo CD without its API: from its Applications and the annotations on their objects.

The status of an Application names the objects that are out of sync, but no fields. An annotation on
each object has what Argo CD applied last, unless it applies server-side; compared with the live
object, it gives the fields. Each object that is out of sync is read once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from correlator.declared.manifests import Declared, last_applied_of
from correlator.detector.detect import Detector
from correlator.finding import UNKNOWN, Finding, Incomplete, Result
from correlator.live.source import Kind, KindUnavailable, KindUnknown, Live
from correlator.sources.argocd_api import LOOKED_FOR, Asked, Destination, is_meant, none_meant
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import reconciler_of
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import ROOT
from glasswarden.policy.policy import Policy

SOURCE: Final = "argocd-core"

_APPLICATION: Final = Kind("argoproj.io", "v1alpha1", "Application")


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    """An object, in the status of an Application."""

    kind: str
    name: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    status: str = ""
    requires_pruning: bool = False
    hook: bool = False
    """Whether it is made around a sync, and lives as long as it is to."""

    @property
    def ref(self) -> Ref:
        return Ref(self.group, self.version, self.kind, self.namespace, self.name)


class _Sync(msgspec.Struct, frozen=True):
    revision: str = ""
    status: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Status(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()
    sync: _Sync = _Sync()
    conditions: tuple[_Condition, ...] = ()

    @property
    def failure(self) -> str:
        """Why Argo CD cannot compare the objects; empty where it can."""
        if self.sync.status in ("Synced", "OutOfSync"):
            return ""
        errors = (each.message for each in self.conditions if each.type.endswith("Error"))
        return f"Argo CD has not compared it: {next(errors, self.sync.status or 'no status yet')}"


class _Spec(msgspec.Struct, frozen=True):
    destination: Destination = Destination()


class _Application(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


def read_core(live: Live, policy: Policy, asked: Asked) -> Result:
    """Return what is out of sync by the Applications in the cluster, and in which fields."""
    reading = _Reading(live, policy)
    found: list[Finding | Incomplete] = []
    destinations: list[Destination] = []
    try:
        for obj in live.anywhere(_APPLICATION, asked.app):
            found += reading.application(obj, asked, destinations)
        found += none_meant(destinations, asked)
    except KindUnknown:
        found.append(Incomplete("Applications", "there is no Argo CD in this cluster"))
    except KindUnavailable as error:
        found.append(error.incomplete)
    findings = tuple(each for each in found if isinstance(each, Finding))
    incomplete = tuple(each for each in found if isinstance(each, Incomplete))
    return Result(findings, incomplete, LOOKED_FOR)


@dataclass(frozen=True, slots=True)
class _Reading:
    live: Live
    policy: Policy

    def application(
        self, obj: Object, asked: Asked, destinations: list[Destination]
    ) -> Iterator[Finding | Incomplete]:
        """Yield what *obj*, an Application, reports about its objects; note where it deploys to."""
        owner = reconciler_of(ref_of(obj))
        try:
            application = msgspec.convert(obj, _Application)
        except msgspec.ValidationError as error:
            yield Incomplete(str(ref_of(obj)), f"it cannot be read: {error}")
            return
        destinations.append(application.spec.destination)
        if owner is None or not is_meant(application.spec.destination, asked):
            return
        if why := application.status.failure:
            yield Incomplete(str(ref_of(obj)), why)
        for each in application.status.resources:
            if each.hook:
                continue
            if each.status == "OutOfSync" or each.requires_pruning:
                yield from self._resource(each, owner, application.status.sync.revision)

    def _resource(
        self, resource: _Resource, owner: Owner, revision: str
    ) -> Iterator[Finding | Incomplete]:
        try:
            live = self.live.one(resource.ref)
        except KindUnavailable as error:
            yield error.incomplete
            return
        if live is None:
            if not resource.requires_pruning:
                yield _finding(resource.ref, UNKNOWN, ABSENT, owner, revision)
        elif resource.requires_pruning:
            metadata = {"metadata": remove_noise(live).get("metadata", {})}
            yield _finding(ref_of(live), ABSENT, metadata, owner, revision)
        else:
            yield from self._fields(live, owner, revision)

    def _fields(self, live: Object, owner: Owner, revision: str) -> Iterator[Finding]:
        applied = last_applied_of(live)
        found = []
        if applied is not None:
            declared = Declared(applied, "what Argo CD applied last")
            found = Detector(self.policy, revision).compare(declared, live)
        for each in found:
            yield replace(each, source=SOURCE, owner=owner)
        if not found:  # it was applied server-side, or Git has moved on since
            yield _finding(ref_of(live), "Synced", "OutOfSync", owner, revision)


def _finding(
    ref: Ref,
    declared: Any,  # noqa: ANN401 - any JSON value
    live: Any,  # noqa: ANN401 - any JSON value
    owner: Owner,
    revision: str,
) -> Finding:
    return Finding(ref, ROOT, declared, live, None, SOURCE, revision, owner)
