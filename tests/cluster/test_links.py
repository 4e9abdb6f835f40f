"""Every link names the right person or nobody: a seeded history on real API servers."""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.kube.objects import Object
from tests.cluster.api import Api
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.link_exam import (
    AUTOSCALER,
    CLOSED,
    OPEN,
    PEOPLE,
    Deed,
    Place,
    Sort,
    Stage,
    a_config,
    a_deployment,
    place_of,
    write_declared,
)
from tests.cluster.retries import eventually

POLICY = """
cluster: {}
mode: enforce
modes:
  - mode: audit
    namespaces: [links-open]
emergencyGroup: system:masters
breakGlass:
  rules:
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      ttl: {{longest: 4h}}
"""
ROUNDS = 10
DELETED = 4
SEED = 11
"""Of those that were tried, the one that found a wrong name the hardest to see."""
Outcome = tuple[str, str]


@pytest.fixture(scope="module")
def west() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        yield running


def a_stage(name: str, cluster: ControlPlane, seed: int) -> Stage:
    for namespace in (OPEN, CLOSED):
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    autoscaler = cluster.service_account("kube-system", AUTOSCALER, "cluster-admin")
    chance = random.Random(f"{seed}-{name}")  # noqa: S311 - to be had again
    people = {who: Api(cluster.as_(who)) for who in ("admin", *PEOPLE)}
    return Stage(name, cluster, Api(flux), people, autoscaler, chance)


def wait_until_asked(stage: Stage) -> None:
    """Wait until the API server asks the webhook: it takes a registration up in its own time."""
    closed = next(obj for obj in stage.objects if obj["metadata"]["namespace"] == CLOSED)
    kind, namespace, name = place_of(closed)
    developer = stage.cluster.as_("developer")
    words = ("annotate", f"{kind}/{name}", "asked=yes", "-n", namespace)

    def is_refused() -> bool:
        if developer.kubectl(*words, check=False).returncode != 0:
            return True
        developer.kubectl("annotate", f"{kind}/{name}", "asked-", "-n", namespace, check=False)
        return False

    eventually(is_refused, "the webhook's registration")


def links(
    stage: Stage, guard: Guard, ledger: str, git: Path, *more: str
) -> dict[tuple[Place, str], Any]:
    """Return what `drift` says about every drifted field of *stage*."""
    command = [
        "drift", "--git", str(git), "--kubeconfig", str(stage.cluster.kubeconfig("admin")),
        "--ledger", ledger, "--keys", str(guard.keys), "--policy", str(guard.policy),
        "--format", "json", *more,
    ]  # fmt: skip
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    found = {}
    # What the audit log finds by itself is about writes, not about fields.
    findings = json.loads(result.stdout)["findings"]
    for each in (each for each in findings if each["source"] != "audit"):
        obj = each["object"]
        found[(obj["kind"], obj["namespace"], obj["name"]), each["field"]] = each["link"]
    return found


def judged(stage: Stage, place: Place, path: str, link: Any) -> Outcome:  # noqa: ANN401 - JSON
    """Return what the script knows of a field, and how the link did."""
    deed = stage.truth[place].get(path)
    assert deed is not None, f"nobody changed {path} of {place}: {link}"
    sort = stage.sort_of(place, path)
    if not link["actor"]:
        return sort, link["state"]
    return sort, "right" if link["actor"] == deed.actor else "WRONG"


def audit_log_of(stage: Stage, file: Path) -> Path:
    """Return a file with what the API server witnessed of *stage*."""
    events = (each for each in stage.cluster.audit_events() if namespace_in(each) in (OPEN, CLOSED))
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return file


def witnessed(log: Path, place: Place) -> Iterator[str]:
    """Yield what was done to an object, a line each, for whoever wonders about a link."""
    kind, *where = place
    for event in map(json.loads, log.read_text().splitlines()):
        ref = event["objectRef"]
        if [ref["resource"], ref["namespace"], ref.get("name")] != [f"{kind.lower()}s", *where]:
            continue
        entries = event.get("responseObject", {}).get("metadata", {}).get("managedFields", ())
        managers = [
            [entry.get(key, "") for key in ("manager", "operation", "subresource", "time")]
            for entry in entries
        ]
        sent = json.dumps(event.get("requestObject"))[:300]
        words = (event["requestReceivedTimestamp"], event["user"]["username"], event["verb"])
        yield " ".join((*words, ref.get("subresource", ""), sent, json.dumps(managers)))


def namespace_in(event: Any) -> str:  # noqa: ANN401 - JSON
    found: str = event.get("objectRef", {}).get("namespace", "")
    return found


@pytest.mark.e2e
def test_no_name_is_wrong_in_a_long_history(
    cluster: ControlPlane, west: ControlPlane, tmp_path: Path
) -> None:
    """At least 500 writes by people, controllers and the emergency group, in two clusters."""
    seed = int(os.environ.get("GLASSWARDEN_SEED", SEED))
    print(f"\nseed {seed}; another history: GLASSWARDEN_SEED=<number>")
    ledger = f"sqlite://{tmp_path}/ledger.db"
    stages = [a_stage("east", cluster, seed), a_stage("west", west, seed)]
    sizes = {"east": (22, 12, 12), "west": (5, 0, 3)}
    outcomes: dict[bool, Counter[Outcome]] = {False: Counter(), True: Counter()}
    wrong, missed = list[Any](), list[Any]()
    for stage in stages:
        deployments, configs, closed = sizes[stage.name]
        objects = [a_deployment(OPEN, f"web-{n}") for n in range(deployments)]
        objects += [a_config(OPEN, f"conf-{n}") for n in range(configs)]
        objects += [a_deployment(CLOSED, f"pay-{n}") for n in range(closed)]
        folder = tmp_path / stage.name
        folder.mkdir()
        stage.deploy(objects)
        options = ("--ledger", ledger)
        policy = POLICY.format(stage.name)
        with guarding(stage.cluster, folder, policy, options=options) as guard:
            wait_until_asked(stage)
            stage.play(ROUNDS)
            delete_some(stage)
        git = write_declared(tmp_path / f"git-{stage.name}", objects)
        drifted = set(stage.drifted())
        log = audit_log_of(stage, folder / "audit.log")
        for witness in ((), ("--audit-log", str(log))):
            said = links(stage, guard, ledger, git, *witness)
            assert drifted <= said.keys(), drifted - said.keys()
            for place, path in drifted:
                outcome = judged(stage, place, path, said[place, path])
                outcomes[bool(witness)][outcome] += 1
                told = (
                    stage.name,
                    witness,
                    place,
                    path,
                    stage.truth[place][path],
                    said[place, path],
                    *witnessed(log, place),
                )
                has_name = (Sort.PLAIN, Sort.GONE) if witness else (Sort.PLAIN,)
                wrong += [told] if outcome[1] == "WRONG" else []
                missed += [told] if outcome[0] in has_name and outcome[1] != "right" else []
    writes = sum((stage.writes for stage in stages), Counter[str]())
    print(f"writes: {', '.join(f'{count} {what}' for what, count in writes.most_common())}")
    for with_log, counted in outcomes.items():
        print_table(counted, "with the audit log" if with_log else "by ledger and managedFields")
    for told in (*wrong, *missed):
        print(*told, sep="\n  ")
    assert wrong == []
    assert writes.total() - writes["of these denied"] >= 500
    assert missed == [], "what nobody else can have done has a name"


def delete_some(stage: Stage) -> None:
    """Let people and the emergency group delete."""
    candidates = [obj for obj in stage.objects if obj["metadata"]["namespace"] == OPEN]
    for number, obj in enumerate(stage.chance.sample(candidates, DELETED)):
        who = ("admin", "developer")[number % 2]
        stage.people[who].delete(obj)
        eventually(partial(is_gone, stage, obj), "the deletion")
        sort = Sort.EMERGENCY if who == "admin" else Sort.PLAIN
        stage.note(obj, who, sort)
        stage.truth[place_of(obj)]["/"] = Deed(who, sort)
        stage.writes["deletion"] += 1


def is_gone(stage: Stage, obj: Object) -> bool:
    return stage.live(obj) is None


def print_table(outcomes: Counter[Outcome], title: str) -> None:
    columns = ("right", "delegated", "unexplained", "WRONG")
    print(f"{title}; the last change was".ljust(56) + "".join(f"{each:>13}" for each in columns))
    for sort in list(Sort)[:-1]:
        cells = "".join(f"{outcomes[str(sort), each]:>13}" for each in columns)
        print(f"{sort:56}{cells}")
