"""Argo CD's API: which Applications there are, and how their objects compare."""

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import urllib3

from correlator.finding import Finding, Incomplete, Result
from correlator.sources.argocd import findings_in
from glasswarden.kube.engines.engine import Owner

IN_CLUSTER: Final = frozenset({"https://kubernetes.default.svc", "in-cluster"})
"""How Argo CD calls the cluster that it runs in."""

LOOKED_FOR: Final = "difference that Argo CD sees"

_SECONDS: Final = urllib3.Timeout(5.0, 60.0)
_FIELDS: Final = "items.metadata.name,items.metadata.namespace,items.spec"


class ArgoCDUnreachable(Exception):
    """Argo CD did not answer, or not to whoever asked."""


class Destination(msgspec.Struct, frozen=True):
    """The cluster that an Application deploys to, by its address or by its name."""

    server: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        """How to call it."""
        return self.name or self.server


class _Spec(msgspec.Struct, frozen=True):
    destination: Destination = Destination()


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class _Application(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


class _Applications(msgspec.Struct, frozen=True):
    items: tuple[_Application, ...] | None = None


class _Resources(msgspec.Struct, frozen=True):
    items: tuple[dict[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Which Applications count."""

    app: str = ""
    """The only one; empty for all."""

    cluster: str = ""
    """The name or address of the cluster that they deploy to; empty for Argo CD's own."""


class ArgoCDApi:
    """One Argo CD, asked with a token; it is only read."""

    def __init__(self, url: str, token: str, authority: Path | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        try:
            tls = ssl.create_default_context(cafile=authority)
        except OSError as error:
            raise ArgoCDUnreachable(f"{authority} is no authority: {error}") from error
        self._pool = urllib3.PoolManager(ssl_context=tls, retries=False)

    def read(self, asked: Asked) -> Result:
        """Return what Argo CD sees; raise `ArgoCDUnreachable` where it answers nothing at all."""
        findings: list[Finding] = []
        incomplete: list[Incomplete] = []
        named = [each for each in self._applications() if asked.app in ("", each.metadata.name)]
        incomplete += none_meant([each.spec.destination for each in named], asked)
        for each in named:
            if is_meant(each.spec.destination, asked):
                for found in self._compare(each.metadata):
                    (findings if isinstance(found, Finding) else incomplete).append(found)  # type: ignore[arg-type]
        return Result(tuple(findings), tuple(incomplete), LOOKED_FOR)

    def _applications(self) -> tuple[_Application, ...]:
        body = self._get(f"/api/v1/applications?{urlencode({'fields': _FIELDS})}")
        try:
            return msgspec.json.decode(body, type=_Applications).items or ()
        except msgspec.DecodeError as error:
            raise ArgoCDUnreachable(f"{self._url} is no Argo CD: {error}") from error

    def _compare(self, application: _Metadata) -> Iterator[Finding | Incomplete]:
        owner = Owner("argocd", application.name, application.namespace or None, "Application")
        query = urlencode({"appNamespace": application.namespace})
        path = f"/api/v1/applications/{quote(application.name)}/managed-resources?{query}"
        try:
            items = msgspec.json.decode(self._get(path), type=_Resources).items or ()
        except (ArgoCDUnreachable, msgspec.DecodeError) as error:
            yield Incomplete(f"Application {application.name}", str(error))
            return
        for item in items:
            yield from findings_in(item, owner)

    def _get(self, path: str) -> bytes:
        try:
            answer = self._pool.request(
                "GET", f"{self._url}{path}", headers=self._headers, timeout=_SECONDS
            )
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise ArgoCDUnreachable(f"{self._url} did not answer: {error}") from error
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise ArgoCDUnreachable(f"{self._url} does not let us read {path.partition('?')[0]}")
        if answer.status != HTTPStatus.OK:
            raise ArgoCDUnreachable(f"{self._url}{path}: HTTP {answer.status}")
        return answer.data


def is_meant(destination: Destination, asked: Asked) -> bool:
    """Return whether what is deployed to *destination* counts."""
    called = {destination.server, destination.name} - {""}
    return bool(called & (IN_CLUSTER if not asked.cluster else {asked.cluster}))


def none_meant(destinations: Sequence[Destination], asked: Asked) -> list[Incomplete]:
    """Return that no Application counts, where that is so: it is not the same as no drift."""
    if not destinations and asked.app:
        return [Incomplete(f"Application {asked.app}", "Argo CD has none of that name")]
    if not destinations or any(is_meant(each, asked) for each in destinations):
        return []
    titles = ", ".join(sorted({each.title for each in destinations}))
    why = f"they deploy to {titles}: say --argocd-cluster if that is this cluster"
    return [Incomplete("Applications", why)]
