"""The detector: a scan of 5,000 objects beside `kubectl diff`, and an examination of both."""

import json
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import yaml

from bench.lab.figure import TIMES, CannotRun, Figure, Goal, Unexpected, times
from bench.lab.lab import Lab
from bench.lab.objects import Object, deployment
from bench.lab.servers import COMMAND
from correlator.classify.rule import Scene
from correlator.declared.git import Address
from correlator.declared.read import fingerprint_of, read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.inspection.follow import Follower
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from glasswarden.cluster.client import ApiServer
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.policy.policy import DEFAULT
from tests.cluster.api import Api
from tests.cluster.build import missing
from tests.cluster.catalogue import KUBERNETES
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drift_exam import (
    deploy,
    expected,
    found,
    marked,
    mutate,
    scanned,
    write_manifests,
)
from tests.cluster.drift_kinds import Case, cases

OBJECTS, FEW = 5000, 500
EVERY = 100
"""Of so many objects one is drifted."""
DRIFTED = OBJECTS // EVERY
NAMESPACE = "bench"
GOALS = (
    Goal("scan of 5,000 objects, 50 drifted", "≥", 20, f"{TIMES} as fast as kubectl diff"),
    Goal("requests of that scan, an object", "≤", 0.05),
    Goal("the next pass, nothing changed", "≤", 10, "% of the first"),
    Goal("memory of that scan", "≤", 300, "MB"),
    Goal("examination: differences found", "≥", 100, "%"),
    Goal("examination: findings that are differences", "≥", 100, "%"),
)
OWNER = "kustomize-controller"
T = TypeVar("T")
CHANGED = re.compile(r"^diff -u -N \S+/LIVE-\d+/(\S+) ", re.MULTILINE)


def run(lab: Lab) -> list[Figure]:
    """Deploy, drift, scan with both; then the examination."""
    if missing(KUBERNETES):
        raise CannotRun("the control plane is not built; `make programs` builds it")
    lab.say("starting a control plane")
    with ControlPlane() as cluster:
        figures = _scan(lab, cluster)
    with ControlPlane() as cluster:
        return [*figures, *_examination(lab, cluster)]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a program took."""

    seconds: float
    megabytes: float
    output: str


def _scan(lab: Lab, cluster: ControlPlane) -> list[Figure]:
    objects = [_object(number) for number in range(OBJECTS)]
    kubeconfig = cluster.kubeconfig("admin")
    folder = lab.folder / "declared"
    folder.mkdir()
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    _deploy(lab, cluster, folder, objects[:FEW])
    few, _, _ = _passes(kubeconfig, folder, FEW // EVERY)
    _deploy(lab, cluster, folder, objects[FEW:])
    git = ["drift", "--git", str(folder), "--kubeconfig", str(kubeconfig), "--format", "json"]
    runs = [_cost([str(COMMAND), *git], {}, (0,)) for _ in range(3)]
    ours = sorted(runs, key=lambda each: each.seconds)[1]
    lab.say(f"ours: {', '.join(f'{each.seconds:.2f} s' for each in runs)}")
    _check(ours.output)
    admin = cluster.as_("admin")
    diff = [str(admin.program), "diff", "-f", str(folder)]
    theirs = _cost(diff, admin.environment(), (1,))
    lab.say(f"kubectl diff: {theirs.seconds:.1f} s")
    requests, first, second = _passes(kubeconfig, folder, DRIFTED)
    share = 100 * second / first
    return [
        GOALS[0].judged(
            theirs.seconds / ours.seconds,
            f"{times(theirs.seconds / ours.seconds)} ({ours.seconds:.2f} s, kubectl diff "
            f"{theirs.seconds:.0f} s)",
        ),
        GOALS[1].judged(
            requests / OBJECTS,
            f"{requests / OBJECTS:.3f} ({requests} requests; of {FEW} objects: {few})",
        ),
        GOALS[2].judged(share, f"{share:.2f} % ({1000 * second:.0f} ms, {1000 * first:.0f} ms)"),
        GOALS[3].judged(
            ours.megabytes, f"{ours.megabytes:.0f} MB (kubectl diff {theirs.megabytes:.0f} MB)"
        ),
    ]


def _deploy(lab: Lab, cluster: ControlPlane, folder: Path, objects: list[Object]) -> None:
    """Declare *objects* in *folder*, apply them as Flux does, and change some by hand."""
    api = Api(cluster.as_("admin"))
    lab.say(f"applying {len(objects)} objects")
    for each in objects:
        api.apply(marked(each), OWNER)
    for each in objects[::EVERY]:
        patch = [{"op": "add", "path": "/metadata/labels/team", "value": "other"}]
        api.patch(each, patch, "kubectl-edit")
    for start in range(0, len(objects), 100):
        some = objects[start : start + 100]
        (folder / f"{some[0]['metadata']['name']}.yaml").write_text(yaml.safe_dump_all(some))


def _object(number: int) -> Object:
    name = f"object-{number:05}"
    kinds = [
        lambda: _plain("v1", "ConfigMap", data={f"key-{key}": f"value {key}" for key in range(8)}),
        lambda: _plain("v1", "Secret", stringData={"password": name, "user": "shop"}),
        lambda: _plain("v1", "ServiceAccount", automountServiceAccountToken=False),
        lambda: deployment(name, NAMESPACE, {}, 8),
        lambda: _plain(
            "rbac.authorization.k8s.io/v1",
            "Role",
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
        ),
        lambda: _plain(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]},
        ),
    ]
    made = kinds[number % len(kinds)]()
    made["metadata"] |= {"name": name, "namespace": NAMESPACE}
    made["metadata"].setdefault("labels", {})["team"] = "shop"
    return made


def _plain(api_version: str, kind: str, **fields: object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {}, **fields}


def _check(output: str) -> None:
    result = json.loads(output)
    fields = {each["field"] for each in result["findings"]}
    if (len(result["findings"]), fields, result["incomplete"]) != (
        DRIFTED,
        {"/metadata/labels/team"},
        [],
    ):
        raise Unexpected(f"{len(result['findings'])} findings, {result['incomplete']}")


def _passes(kubeconfig: Path, folder: Path, drifted: int) -> tuple[int, float, float]:
    """Return the requests and the seconds of a first pass, and the seconds of the next one."""
    server = _Counting(access_from(kubeconfig), "bench")
    address = Address(str(folder), "")

    def new_scan() -> tuple[Scan, ClusterLive]:
        live = ClusterLive(server, Scope())
        manifests = read_declared(address, "", Release())
        return Scan(Detector(DEFAULT, manifests.revision), manifests, live), live

    follower = Follower(server, new_scan, lambda: fingerprint_of(address, ""))
    scene = Scene(DEFAULT, datetime.now(UTC))
    start = time.perf_counter()
    first = follower.run(scene)
    middle = time.perf_counter()
    requests = server.fetched
    second = follower.run(scene)
    end = time.perf_counter()
    follower.close()
    if first != second or len(first.findings) != drifted:
        raise Unexpected("the second pass found something else")
    return requests, middle - start, end - middle


class _Counting(ApiServer):
    """Counts what it is asked for; watches are held, not asked again."""

    fetched = 0

    def fetch(self, path: str, accept: str = "application/json", seconds: float = 60.0) -> bytes:
        self.fetched += 1
        return super().fetch(path, accept, seconds)


def _examination(lab: Lab, cluster: ControlPlane) -> list[Figure]:
    every = list(cases())
    folder = write_manifests(lab.folder / "examination", every)
    lab.say(f"examination: {len(every)} objects")
    mutate(deploy(cluster, every), every)
    wanted = expected(every)
    seen = found(scanned(cluster.kubeconfig("admin"), folder))
    recall, precision = _shares(wanted, seen)
    # kubectl knows no fields, so ours are counted by objects too.
    by_object = _shares({each for each, _ in wanted}, {each for each, _ in seen})
    # kubectl would take Flux's marks away if its files did not have them.
    with_marks = [replace(case, manifest=marked(case.manifest)) for case in every]
    folder = write_manifests(lab.folder / "marked", with_marks)
    plain = _kubectl(lab, cluster, every, folder, [])
    server_side = ["--server-side", f"--field-manager={OWNER}", "--force-conflicts"]
    applied = _kubectl(lab, cluster, every, folder, server_side)
    kinds = len({case.manifest["kind"] for case in every})
    beside = "by object: {0:.1f} %, kubectl diff {1:.1f} %, --server-side {2:.1f} %"
    recalls, precisions = zip(by_object, plain, applied, strict=True)
    return [
        GOALS[4].judged(
            recall,
            f"{recall:.1f} % of {len(wanted)} over {kinds} kinds ({beside.format(*recalls)})",
        ),
        GOALS[5].judged(precision, f"{precision:.1f} % ({beside.format(*precisions)})"),
    ]


def _shares(wanted: set[T], seen: set[T]) -> tuple[float, float]:
    """Return how much of *wanted* was *seen*, and how much of *seen* was wanted, in percent."""
    right = len(wanted & seen)
    return 100 * right / len(wanted), 100 * right / max(1, len(seen))


def _kubectl(
    lab: Lab, cluster: ControlPlane, every: list[Case], folder: Path, flags: list[str]
) -> tuple[float, float]:
    """Return the recall and precision of kubectl diff, by objects, for it knows no fields."""
    lab.say(f"kubectl diff {' '.join(flags)}, object by object")
    names = {_file_name(case): bool(case.mutation.finds) for case in every}
    files = sorted(folder.iterdir())
    with ThreadPoolExecutor(2) as pool:
        # One that is refused, as a merge of two volumes is, would end a run over all of them.
        told = set().union(*pool.map(lambda file: _told(cluster, file, flags), files)) & set(names)
    drifted = {name for name, is_drifted in names.items() if is_drifted}
    lab.say(f"it tells {len(told & drifted)} of {len(drifted)}, and {len(told - drifted)} others")
    return _shares(drifted, told)


def _told(cluster: ControlPlane, file: Path, flags: list[str]) -> set[str]:
    """Return the objects in *file* that kubectl says would change."""
    admin = cluster.as_("admin")
    done = admin.kubectl("diff", "-f", str(file), *flags, check=False)
    return set(CHANGED.findall(done.stdout))


def _file_name(case: Case) -> str:
    """Return how kubectl diff names the file of an object."""
    manifest = case.manifest
    group, _, version = manifest["apiVersion"].rpartition("/")
    metadata = manifest["metadata"]
    parts = (group, version, manifest["kind"], metadata.get("namespace", ""), metadata["name"])
    return ".".join(parts if group else parts[1:])


def _cost(command: list[str], environment: dict[str, str], codes: tuple[int, ...]) -> Cost:
    """Run *command* to its end; its memory is the most that it ever held."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        running = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=out, stderr=err
        )
        _, status, usage = os.wait4(running.pid, 0)
        seconds = time.perf_counter() - start
        running.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, complaint = out.read().decode(), err.read().decode()
    if running.returncode not in codes:
        raise Unexpected(f"{command[0]} ended with {running.returncode}: {complaint[-500:]}")
    return Cost(seconds, usage.ru_maxrss / 1000, output)
