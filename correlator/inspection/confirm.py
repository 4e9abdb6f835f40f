"""The API server itself is asked whether applying what Git declares would change anything.

One server-side dry run for each object that seems to differ. A difference that the API server, or
one of its webhooks, would make again is none. What an apply leaves alone, such as somebody's
addition, cannot be asked for this way and stays as it was found.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from correlator.declared.manifests import Declared
from correlator.finding import Finding, Incomplete
from correlator.live.cluster import ClusterLive, reason_of
from correlator.live.source import Kind
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.kube.compare import ABSENT, Value, value_at
from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object

_ANYBODY: Final = "glasswarden-drift"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Confirms findings on one API server."""

    server: ApiServer
    live: ClusterLive
    applier_of: Callable[[Finding], str]
    """The field manager that applies the object's manifest."""

    def confirm_findings(
        self, declared: Declared, findings: list[Finding]
    ) -> tuple[list[Finding], list[Incomplete]]:
        """Return those of one object's *findings* that hold, and what could not be asked."""
        candidates = [each for each in findings if _can_be_asked(each)]
        if not candidates:
            return findings, []
        try:
            would_be = self._rehearse(declared, candidates[0])
        except ApiServerError as error:
            what = f"the dry run of {candidates[0].ref}"
            return findings, [Incomplete(what, reason_of(error))]
        return [each for each in findings if not _is_as_applied(each, would_be)], []

    def _rehearse(self, declared: Declared, finding: Finding) -> Object:
        ref = finding.ref
        resource = self.live.resource_of(Kind(ref.group, ref.version, ref.kind))
        manager = self.applier_of(finding) or _ANYBODY
        url = resource.url(ref.namespace, ref.name)
        return self.server.rehearse_apply(url, declared.manifest, manager)


def _can_be_asked(finding: Finding) -> bool:
    return finding.declared is not ABSENT and not finding.is_missing_object


def _is_as_applied(finding: Finding, would_be: Object) -> bool:
    return _can_be_asked(finding) and _same(value_at(would_be, finding.field), finding.live)


def _same(one: Value, other: Value) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_identical(one, other)
