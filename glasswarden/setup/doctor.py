"""Checks an installation: each check gives a finding, with what to do about it.

The checks read the cluster, the webhook's own metrics and, where its address is given, the ledger.
Nothing is changed. The one write that is tried is a dry run: it makes the API server call the
webhook, which is the only way to know that it can.
"""

import base64
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from certs.authority import BACKDATE, names_of
from certs.files import StateUnreadable
from certs.rotation import Phase, State, is_due
from glasswarden.cluster.client import ApiServerError, Forbidden
from glasswarden.kube.engines import flux
from glasswarden.kube.objects import Object
from glasswarden.ledger.errors import (
    DriverMissing,
    LaterTables,
    LedgerError,
    LedgerMissing,
    MigrationNeeded,
)
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import file_of, is_postgres, open_ledger
from glasswarden.policy.policy import Policy
from glasswarden.policy_file import PolicyUnreadable
from glasswarden.setup.installation import MUTATING, VALIDATING, Installation, NotInstalled
from webhook.registration.configurations import (
    Endpoint,
    mutating_configuration,
    validating_configuration,
)


class Health(StrEnum):
    """The result of a check."""

    OK = "OK"
    WARN = "WARN"
    """It could not be checked, or needs attention."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    subject: str
    health: Health
    message: str
    advice: str = ""


KEY_AGE: Final = timedelta(days=90)
"""A key that signs for longer has been seen by too many."""

SKEW_SECONDS: Final = 10.0

Metrics = Mapping[str, float]
"""Each metric by its name; of several series the sum."""


def metrics_in(exposition: str) -> Metrics:
    """Return the metrics in what `/metrics` serves."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def recording(metrics: Metrics) -> Finding:
    """Judge whether what is decided gets into the ledger."""
    subject, waiting = "recording", int(metrics.get("glasswarden_spool_records", 0))
    oldest = metrics.get("glasswarden_spool_oldest_seconds", 0.0)
    behind = f"{waiting} records wait in the spool, the oldest for {oldest:.0f} s"
    if not metrics.get("glasswarden_ledger_available", 1.0):
        message = f"the webhook does not reach its ledger; {behind}"
        return Finding(subject, Health.FAIL, message, "docs/runbooks/ledger-unavailable.md")
    if unrecorded := int(metrics.get("glasswarden_unrecorded_writes_total", 0)):
        message = f"{unrecorded} writes could not be recorded since it started"
        return Finding(subject, Health.WARN, message, "docs/runbooks/writes-unrecorded.md")
    if waiting:
        return Finding(subject, Health.WARN, behind, "check again in a minute: it is delivering")
    return Finding(subject, Health.OK, "every record is in the ledger")


def policy_in_force(metrics: Metrics) -> Finding:
    """Judge whether the webhook goes by the policy file as it is."""
    subject = "rules"
    if metrics.get("glasswarden_policy_refused"):
        message = "the policy file cannot be used as it is; the rules from before stay in force"
        return Finding(subject, Health.FAIL, message, "docs/runbooks/policy-rejected.md")
    return Finding(subject, Health.OK, "the policy file is in force")


def keys(metrics: Metrics, now: datetime) -> Finding:
    """Judge the key that grants are stamped with."""
    subject, advice = "keys", "glasswarden keys rotate"
    since = metrics.get("glasswarden_grant_key_active_timestamp_seconds", 0.0)
    if not since:
        return Finding(subject, Health.FAIL, "no key signs: nobody can use break-glass", advice)
    if rejected := int(metrics.get("glasswarden_stamps_refused_total", 0)):
        message = (
            f"{rejected} writes had a stamp that no key verifies: a key was revoked, or a forgery"
        )
        return Finding(subject, Health.WARN, message, "docs/break-glass.md: ask anew where needed")
    age = now - datetime.fromtimestamp(since, UTC)
    message = f"the key in use signs since {age.days} days"
    if age > KEY_AGE:
        return Finding(subject, Health.WARN, message, advice)
    return Finding(subject, Health.OK, message)


def webhook_clock(metrics: Metrics, now: datetime) -> Finding:
    """Judge the clock that grants end by; the answer took its time to come."""
    theirs = metrics.get("glasswarden_clock_timestamp_seconds", now.timestamp())
    skew = abs(now.timestamp() - theirs)
    message = f"{skew:.0f} s between this machine and the webhook"
    if skew > SKEW_SECONDS:
        advice = "set the webhook's clock: grants end, and records are dated, by it"
        return Finding("webhook-clock", Health.FAIL, message, advice)
    return Finding("webhook-clock", Health.OK, message)


def check_served_certificate(metrics: Metrics, now: datetime) -> Finding:
    """Judge the certificate that the webhook really serves, which may not be the one kept."""
    subject = "served"
    expiry = metrics.get("glasswarden_certificate_expiry_timestamp_seconds", 0.0)
    left = datetime.fromtimestamp(expiry, UTC) - now
    if left <= timedelta():
        advice = "docs/runbooks/certificate-expires.md"
        return Finding(subject, Health.FAIL, "the certificate that is served has expired", advice)
    return Finding(subject, Health.OK, f"a certificate valid for {left.days} days")


TAIL: Final = timedelta(hours=24)
"""How much of the ledger's end is verified; `ledger fsck` reads all of it."""

MOST_SHOWN: Final = 3
LITTLE: Final = 0.10
"""A share of the disk."""
LEAST_BYTES: Final = 256_000_000
"""Some 150,000 records."""

_ADVICE: Final[dict[type[LedgerError], str]] = {
    MigrationNeeded: "glasswarden ledger migrate",
    LaterTables: "run the version of the program that made the tables",
    LedgerMissing: "is the address the webhook's own? --ledger",
    DriverMissing: "install glasswarden[postgres] on this machine",
}


def ledger(address: str, now: datetime) -> Iterator[Finding]:
    """Yield the findings about the ledger at *address*."""
    try:
        with closing(open_ledger(address, create=False)) as opened:
            yield Finding("ledger", Health.OK, f"{len(opened.heads())} chains")
            yield tail(opened, now)
    except LedgerError as error:
        advice = _ADVICE.get(type(error), "docs/runbooks/ledger-unavailable.md")
        yield Finding("ledger", Health.FAIL, str(error), advice)
    if not is_postgres(address):
        yield from _disk("disk", file_of(address).parent)


def tail(opened: Ledger, now: datetime) -> Finding:
    """Judge whether the chains' ends are as they were written."""
    run = Fsck(opened, Trust(), since=now - TAIL)
    wrong = [str(finding) for finding in islice(run.find_faults(), MOST_SHOWN)]
    if wrong:
        advice = "glasswarden ledger fsck; docs/records.md explains the findings"
        return Finding("chains", Health.FAIL, "; ".join(wrong), advice)
    return Finding("chains", Health.OK, f"{run.tally.records} records of a day verify")


def room(subject: str, free: int, total: int) -> Finding:
    """Judge how much room is left on a disk."""
    message = f"{free / 1e9:.1f} GB of {total / 1e9:.1f} GB are free"
    if free < min(LEAST_BYTES, LITTLE * total):
        advice = "make room, or glasswarden ledger prune: docs/runbooks/writes-unrecorded.md"
        return Finding(subject, Health.FAIL, message, advice)
    if free < LITTLE * total:
        return Finding(subject, Health.WARN, message, "make room before it is full")
    return Finding(subject, Health.OK, message)


def _disk(subject: str, folder: Path) -> Iterator[Finding]:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return
    yield room(subject, usage.free, usage.total)


SKEW: Final = timedelta(seconds=5)
"""The API server's clock shows whole seconds, and the answer takes its time."""

PROBE: Final = "glasswarden-doctor"
_MARKS: Final = flux.kustomization_labels(PROBE, PROBE)


def examine(
    installation: Installation,
    now: Callable[[], datetime],
    policy: Policy | None = None,
    address: str = "",
) -> Iterator[Finding]:
    """Yield a finding for each part.

    *policy* is the one meant, if not the one that is mounted; *address* the ledger's, if it can be
    reached from here.
    """
    yield from _check("clock", lambda: clock(installation.server.time(), now()))
    registered = installation.configuration_in_force()
    state, found = _certificate(installation, registered, now())
    yield found
    try:
        policy = policy or installation.policy()
    except (ApiServerError, NotInstalled, PolicyUnreadable) as error:
        yield Finding("policy", Health.FAIL, str(error), "glasswarden policy check policy.yaml")
    else:
        yield Finding("policy", Health.OK, f"digest {policy.digest[:12]}")
    yield from registration(registered, policy, state)
    if policy is not None and policy.glass:
        yield stamping(installation.configuration_in_force(MUTATING), policy, state)
    yield from _check("endpoints", lambda: _endpoints(installation, registered))
    if registered is not None:
        yield from _check("reachability", lambda: reachability(installation))
        yield from _check_metrics(installation, registered, policy, now())
    if installation.folder is None:
        yield from _check("correlator", lambda: correlator(installation.correlators()))
    if address:
        yield from ledger(address, now())


def _check_metrics(
    installation: Installation, registered: Object, policy: Policy | None, now: datetime
) -> Iterator[Finding]:
    """Yield the findings about the webhook's own metrics."""
    try:
        read = metrics_in(installation.read_metrics(registered))
    except (ApiServerError, ValueError) as error:
        advice = "may you `get services/proxy` in its namespace?"
        yield Finding("metrics", Health.WARN, f"not read: {error}", advice)
        return
    yield webhook_clock(read, now)
    yield check_served_certificate(read, now)
    yield policy_in_force(read)
    yield recording(read)
    if policy is not None and policy.glass:
        yield keys(read, now)


def _certificate(
    installation: Installation, registered: Object | None, now: datetime
) -> tuple[State | None, Finding]:
    try:
        state = installation.certificates().read()
    except (ApiServerError, OSError, StateUnreadable) as error:
        return None, Finding("certificate", Health.FAIL, str(error), "glasswarden certs issue")
    return state, certificate(state, installation.hosts(registered), now)


def _check(subject: str, check: Callable[[], Finding]) -> Iterator[Finding]:
    try:
        yield check()
    except ApiServerError as error:
        yield Finding(subject, Health.WARN, str(error))


def clock(theirs: datetime, ours: datetime) -> Finding:
    """Judge how far apart two clocks are."""
    skew = abs(ours - theirs)
    message = f"{skew.total_seconds():.0f} s between this machine and the API server"
    if skew > BACKDATE:
        return Finding(
            "clock", Health.FAIL, message, "set the clocks: certificates seem not yet valid"
        )
    if skew > SKEW:
        return Finding("clock", Health.WARN, message, "let both follow a time server")
    return Finding("clock", Health.OK, message)


def certificate(state: State | None, hosts: set[str], now: datetime) -> Finding:
    """Judge the serving certificate."""
    subject = "certificate"
    if state is None:
        return Finding(
            subject, Health.FAIL, "there is none", "is the certificate controller running?"
        )
    left = state.expires - now
    message = f"{state.phase}, valid for {left.days} days"
    if left <= timedelta():
        return Finding(subject, Health.FAIL, "it has expired", "glasswarden certs rotate, twice")
    names = names_of(state.serving.certificate)
    if lacking := hosts - {*names}:
        message = f"it is for {', '.join(names)}, not for {', '.join(sorted(lacking))}"
        return Finding(
            subject, Health.FAIL, message, "start the certificate controller with that --host"
        )
    if state.phase is Phase.STEADY and is_due(state, names, now):
        return Finding(
            subject,
            Health.WARN,
            f"{message}, due for renewal",
            "see the certificate controller's log",
        )
    return Finding(subject, Health.OK, message)


def registration(
    registered: Object | None, policy: Policy | None, state: State | None
) -> Iterator[Finding]:
    """Judge the webhook configuration: whether it is there, of this policy, of this authority."""
    advice = "glasswarden install --apply"
    if registered is None:
        message = f"{VALIDATING.resource}/{VALIDATING.name} does not exist: nothing is guarded"
        yield Finding("registration", Health.FAIL, message, advice)
        return
    if policy is not None:
        yield made_from(registered, policy)
        # Where the webhook is does not matter here: only what it is asked about.
        yield conditions(registered, validating_configuration(policy, Endpoint("", b"", "")))
    if state is not None:
        yield trust(registered, state)


def stamping(registered: Object | None, policy: Policy, state: State | None) -> Finding:
    """Judge whether break-glass works: the mutating configuration stamps grants."""
    subject, advice = "break-glass", "glasswarden install --apply"
    if registered is None:
        message = f"{MUTATING.resource}/{MUTATING.name} does not exist: no grant is ever stamped"
        return Finding(subject, Health.FAIL, message, advice)
    wanted = mutating_configuration(policy, Endpoint("", b"", ""))
    found = [made_from(registered, policy), conditions(registered, wanted)]
    found += [trust(registered, state)] if state is not None else []
    failed = [each for each in found if each.health is not Health.OK]
    if not failed:
        return Finding(subject, Health.OK, "grants can be stamped")
    return Finding(subject, Health.FAIL, "; ".join(each.message for each in failed), advice)


def made_from(registered: Object, policy: Policy) -> Finding:
    """Judge whether the configuration follows from *policy*."""
    digest = registered["metadata"].get("annotations", {}).get("glasswarden.io/policy", "")
    if digest == policy.digest:
        return Finding("registration", Health.OK, "made from this policy")
    message = f"made from another policy, digest {digest[:12] or 'unknown'}"
    return Finding("registration", Health.FAIL, message, "glasswarden install --apply")


def conditions(registered: Object, wanted: Object) -> Finding:
    """Judge what the API server asks about: conditions, rules, what happens without an answer."""
    live = {entry["name"]: entry for entry in registered.get("webhooks") or ()}
    differences = [
        f"{entry['name']}: {key}"
        for entry in wanted["webhooks"]
        for key, value in entry.items()
        if key != "clientConfig" and not _holds(live.get(entry["name"], {}).get(key), value)
    ]
    extra = live.keys() - {entry["name"] for entry in wanted["webhooks"]}
    differences += (f"{name}: not of this policy" for name in sorted(extra))
    if not differences:
        return Finding("conditions", Health.OK, "as the policy requires")
    message = f"not as the policy requires: {', '.join(differences)}"
    return Finding("conditions", Health.FAIL, message, "glasswarden install --apply")


def _holds(live: Any, wanted: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether *live* has all that *wanted* has; the API server adds defaults."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(_holds(live.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(_holds(one, other) for one, other in zip(live, wanted, strict=True))
        )
    return bool(live == wanted)


def trust(registered: Object, state: State) -> Finding:
    """Judge whether the API server trusts what is, and what will be, served."""
    wanted = base64.b64encode(state.bundle).decode()
    entries = registered.get("webhooks") or ()
    others = [e["name"] for e in entries if e["clientConfig"].get("caBundle") != wanted]
    if not others:
        return Finding("caBundle", Health.OK, f"{len(state.authorities)} trusted, as kept")
    message = f"not the authorities that are kept: {', '.join(others)}"
    advice = "see the certificate controller's log; glasswarden certs rotate"
    return Finding("caBundle", Health.FAIL, message, advice)


def _endpoints(installation: Installation, registered: Object | None) -> Finding:
    entries = (registered or {}).get("webhooks") or ()
    if any("url" in entry["clientConfig"] for entry in entries):
        return Finding("endpoints", Health.OK, "the webhook is registered by URL")
    ready = installation.ready_addresses()
    if not ready:
        message = f"no ready pod behind Service {installation.namespace}/{installation.service}"
        advice = f"kubectl get pods -n {installation.namespace}"
        return Finding("endpoints", Health.FAIL, message, advice)
    return Finding("endpoints", Health.OK, f"{len(ready)} ready")


def correlator(deployments: list[Object]) -> Finding:
    """Judge whether a correlator inspects drift and open follow-ups."""
    subject = "correlator"
    if not deployments:
        message = "none is installed: drift and open follow-ups are not inspected"
        return Finding(subject, Health.WARN, message, "docs/operate.md")
    ready = sum((each.get("status") or {}).get("readyReplicas", 0) for each in deployments)
    if not ready:
        advice = "kubectl logs -l app.kubernetes.io/component=correlator"
        return Finding(subject, Health.FAIL, "no replica is ready", advice)
    return Finding(subject, Health.OK, f"{ready} ready")


def reachability(installation: Installation, namespace: str = "default") -> Finding:
    """Have the API server ask the webhook about a dry run, and judge what comes back."""
    subject = "reachability"
    metadata = {"name": PROBE, "namespace": namespace, "labels": _MARKS}
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    try:
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        warnings = installation.server.rehearse_create(path, probe)
    except Forbidden as error:
        return Finding(subject, Health.WARN, f"not tried: {error}")
    except ApiServerError as error:
        advice = "docs/runbooks/calls-fail.md"
        return Finding(subject, Health.FAIL, f"the API server got no answer: {error}", advice)
    if any(PROBE in warning for warning in warnings):
        return Finding(subject, Health.OK, "the API server asked, and the webhook answered")
    message = (
        "no answer was seen: Flux is not guarded here, your writes are exempt, or nothing is"
        " enforced and the API server ignored a webhook that does not answer"
    )
    return Finding(subject, Health.WARN, message, "docs/runbooks/calls-fail.md")
