"""Through a real API server: what a guarded write gains in latency, and what an unguarded one."""

import re
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.lab.figure import TIMES, CannotRun, Figure, Goal, Unexpected, times
from bench.lab.lab import SLACK, Lab
from bench.lab.objects import FLUX, Object, compact, deployment, size_of, variables_for
from bench.lab.registration import validating_configuration
from bench.lab.servers import Server
from tests.cluster.build import missing
from tests.cluster.catalogue import KUBERNETES
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import registered
from tests.cluster.retries import eventually

SIZE = 12_000
ROUNDS, TURNS = 5, 150
LIMIT = 60
GOALS = (
    Goal(
        "through the API server: what a guarded update of a 12 kB Deployment gains, p50",
        "≤",
        1.25,
        f"{TIMES} what Go adds",
    ),
    Goal("unguarded update through the API server: calls to us", "≤", 0),
    Goal("unguarded update through the API server, p50", "≤", 1.05, f"{TIMES} no webhook"),
)

GUARDED = "shop"
# Our configuration leaves these namespaces out: what is written there meets Go's webhook or none.
APART, CONDITIONED = "kube-public", "kube-node-lease"
ASK = "bench.glasswarden.io/ask"
PERSON = "developer"
# The guard is asked, takes the difference, and allows what the policy gave to somebody: the write
# is stored, nothing is recorded.
POLICY = {
    "apiVersion": "glasswarden.io/v1",
    "kind": "Policy",
    "delegations": [
        {"name": "bench", "actors": [PERSON], "fields": ["/metadata/annotations/**"]},
    ],
}
CALLS = re.compile(
    r'^apiserver_admission_webhook_request_total{.*name="[a-z]+\.glasswarden\.io".*} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A Deployment that is written to, under the name of what stands before it."""

    name: str
    namespace: str
    labels: dict[str, str]

    @property
    def manifest(self) -> Object:
        """The Deployment; paused, so that no controller answers each write with its own."""
        obj = deployment(self.name, self.namespace, self.labels, variables_for(SIZE))
        obj["spec"]["paused"] = True
        return obj

    @property
    def target(self) -> dict[str, Any]:
        """Return how the client writes to it: an annotation that changes every time."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}"
        patches = [
            {"metadata": {"annotations": {"example.com/tick": tick}}} for tick in ("even", "odd")
        ]
        return {
            "name": self.name,
            "path": path,
            "patches": patches,
        }


NONE = Subject("none", APART, {})
GO = Subject("go", APART, {ASK: "go"})
GO_CONDITIONED = Subject("go-conditioned", CONDITIONED, FLUX)
OWNED = Subject("owned", GUARDED, FLUX)
UNGUARDED = Subject("unguarded", GUARDED, {})
SUBJECTS = (NONE, GO, GO_CONDITIONED, OWNED, UNGUARDED)


class Turns(msgspec.Struct, frozen=True):
    """What the client measured: the nth latencies of all targets belong together."""

    latencies: dict[str, list[float]]
    errors: dict[str, int]
    first_error: str

    def added(self, target: str, to: str) -> float:
        """Return the middle one of the differences between two targets, in milliseconds."""
        pairs = zip(self.latencies[target], self.latencies[to], strict=True)
        return statistics.median(ours - theirs for ours, theirs in pairs)

    def middle(self, target: str) -> float:
        """Return a target's middle latency in milliseconds."""
        return statistics.median(self.latencies[target])


def run(lab: Lab) -> list[Figure]:
    """Write to guarded and other objects by turns, as a person with a client certificate."""
    with standing(lab, POLICY) as cluster:
        return [guarded(lab, cluster, GOALS[0]), *_unguarded(lab, cluster)]


@contextmanager
def standing(lab: Lab, policy: Object) -> Iterator[ControlPlane]:
    """Run a control plane that asks us, by *policy*, and the Go webhook."""
    if missing(KUBERNETES):
        raise CannotRun("the control plane is not built; `make programs` builds it")
    lab.say("starting a control plane")
    with ControlPlane() as cluster, ExitStack() as stack:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GUARDED}}
        cluster.apply([namespace, *(subject.manifest for subject in SUBJECTS)])
        _say_size(lab, cluster)
        file = lab.file(compact(policy))
        ours = stack.enter_context(lab.glasswarden(policy=file))
        go = stack.enter_context(lab.go(raw=True))
        cluster.apply([_plain(go), _conditioned(go)])
        stack.enter_context(registered(cluster, ours.url, ours.authority, file))
        _await_effect(lab, cluster)
        yield cluster


def guarded(lab: Lab, cluster: ControlPlane, goal: Goal) -> Figure:
    """Compare what a guarded write gains with what it gains by the Go webhook."""
    before = _calls(cluster)
    rounds = _rounds(lab, cluster, (NONE, GO, GO_CONDITIONED, OWNED))
    if _calls(cluster) - before < ROUNDS * TURNS:
        raise Unexpected("the API server did not ask us about every guarded write")
    ours, go, conditioned = (
        [turns.added(each.name, NONE.name) for turns in rounds]
        for each in (OWNED, GO, GO_CONDITIONED)
    )
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, go, strict=True))
    told = (
        f"{times(ratio)} (+{statistics.median(ours):.2f} ms, Go +{statistics.median(go):.2f} ms; "
        f"Go behind our matchConditions +{statistics.median(conditioned):.2f} ms)"
    )
    return goal.judged(ratio, told)


def _unguarded(lab: Lab, cluster: ControlPlane) -> list[Figure]:
    before = _calls(cluster)
    rounds = _rounds(lab, cluster, (NONE, UNGUARDED))
    calls = _calls(cluster) - before
    ratio = statistics.median(turns.middle("unguarded") / turns.middle("none") for turns in rounds)
    ours, none = (
        statistics.median(turns.middle(name) for turns in rounds) for name in ("unguarded", "none")
    )
    return [
        GOALS[1].judged(calls, f"{calls} calls for {ROUNDS * TURNS} updates"),
        GOALS[2].judged(ratio, f"{times(ratio)} ({ours:.2f} ms, none {none:.2f} ms)"),
    ]


def _rounds(lab: Lab, cluster: ControlPlane, subjects: tuple[Subject, ...]) -> list[Turns]:
    rounds = []
    for number in range(ROUNDS):
        rounds.append(_turns(lab, cluster, subjects))
        latencies = (f"{name} {rounds[-1].middle(name):.1f}" for name in rounds[-1].latencies)
        lab.say(f"round {number + 1}/{ROUNDS}, p50 in ms: {', '.join(sorted(latencies))}")
    return rounds


def _turns(
    lab: Lab, cluster: ControlPlane, subjects: tuple[Subject, ...], turns: int = TURNS
) -> Turns:
    targets = lab.file(compact([each.target for each in subjects]))
    flags = ["-kubeconfig", str(cluster.kubeconfig(PERSON)), "-turns", str(turns)]
    flags += ["-targets", str(targets), "-limit", f"{LIMIT}s"]
    command = [str(lab.programs / "patch"), *flags]
    done = subprocess.run(command, check=True, capture_output=True, timeout=2 * LIMIT + SLACK)
    seen = msgspec.json.decode(done.stdout, type=Turns)
    if seen.errors:
        raise Unexpected(f"{seen.errors}: {seen.first_error}")
    return seen


def _plain(go: Server) -> Object:
    """Return how the API server is told to ask Go about the object meant for it, and no more."""
    configuration = _asking(go, "go")
    rule = {"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"]}
    configuration["webhooks"][0] |= {
        "rules": [{**rule, "resources": ["deployments"]}],
        "namespaceSelector": _only(APART),
        "objectSelector": {"matchLabels": {ASK: "go"}},
        "matchConditions": [],
    }
    return configuration


def _conditioned(go: Server) -> Object:
    """Return the same with our conditions before it: what they cost is the API server's time."""
    configuration = _asking(go, "go-conditioned")
    configuration["webhooks"][0]["namespaceSelector"] = _only(CONDITIONED)
    return configuration


def _asking(go: Server, name: str) -> Object:
    """Return our own configuration under another name, for the Go webhook."""
    configuration = validating_configuration(go.url, go.authority)
    configuration["metadata"]["name"] = name
    configuration["webhooks"] = configuration["webhooks"][:1]
    configuration["webhooks"][0]["name"] = f"{name}.bench.glasswarden.io"
    return configuration


def _only(namespace: str) -> Object:
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


def _calls(cluster: ControlPlane) -> int:
    """Return how often the API server says it has asked us."""
    metrics = cluster.as_("admin").kubectl("get", "--raw", "/metrics").stdout
    return sum(int(float(count)) for count in CALLS.findall(metrics))


def _await_effect(lab: Lab, cluster: ControlPlane) -> None:
    """Write until the API server asks us: a new configuration takes it a moment."""

    def asked() -> bool:
        _turns(lab, cluster, (OWNED,), turns=1)
        return _calls(cluster) > 0

    eventually(asked, "the API server to ask about a guarded write")


def _say_size(lab: Lab, cluster: ControlPlane) -> None:
    stored = cluster.get("deployment", NONE.name, "-n", NONE.namespace, "--show-managed-fields")
    lab.say(f"each Deployment is stored with {size_of(stored) / 1000:.1f} kB")
