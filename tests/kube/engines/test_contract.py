"""What every engine of the registry gets, and that a new one takes one module and one entry.

The tests with an engine as their parameter run over the registry. The last one copies the program,
adds `example_engine` as `registry` describes it, and runs the same tests there, with `acme_cases`.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from correlator.detector.detect import is_engines_own
from correlator.detector.managers import applier_of, managers_for
from glasswarden.cli.main import main
from glasswarden.cli.policy import explain_review
from glasswarden.cluster.client import NotFound
from glasswarden.kube.engines.engine import Engine, Owner
from glasswarden.kube.engines.registry import (
    BY_NAME,
    ENGINES,
    SWITCHES,
    owner_of,
    reconciler_of,
)
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import path_of
from glasswarden.policy.decide import Explanation
from glasswarden.policy.decision import Clause, Verdict
from glasswarden.policy.load import document_schema, parse_document
from glasswarden.policy.messages import render_denial, render_warnings
from glasswarden.policy.policy import Policy
from glasswarden.setup.proposal import propose
from glasswarden.setup.survey import Survey, survey
from tests.kube.builders import an_object
from tests.kube.engines.test_engines import OWNED
from tests.policy.builders import a_policy
from tests.webhook.builders import a_request, as_review
from webhook.registration.configurations import (
    Endpoint,
    mutating_configuration,
    validating_configuration,
)
from webhook.registration.fallback_policy import new_fallback_policy

ROOT = Path(__file__).parents[3]
ENDPOINT = Endpoint("https://webhook.example:8443/", b"PEM", "c0ffee")

EXAMPLES: dict[str, Object] = {
    **{owner.engine: obj for obj, owner in (each.values for each in reversed(OWNED))},  # type: ignore[misc, union-attr]
    "helm": an_object(
        labels={"app.kubernetes.io/managed-by": "Helm"},
        annotations={
            "meta.helm.sh/release-name": "web",
            "meta.helm.sh/release-namespace": "prod",
        },
    ),
    "pulumi": an_object(labels={"app.kubernetes.io/managed-by": "pulumi"}),
    "acme": an_object(labels={"acme.example/app": "shop"}),
}
"""An object of each engine."""

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda each: each.name)


def policy_for(engine: Engine, more: str = "") -> Policy:
    return a_policy(
        f"engines: {{{engine.name}: {{enabled: true}}}}\n"
        f"breakGlass: {{rules: [{{name: all, users: [developer]}}]}}\n{more}"
    )


def example_of(engine: Engine, **fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    return copy.deepcopy(EXAMPLES[engine.name]) | fields


def without_marks(engine: Engine) -> Object:
    obj = example_of(engine)
    for mark in engine.marks:
        obj["metadata"].get(f"{mark.kind}s", {}).pop(mark.key, None)
    return obj


def update(old: Object, new: Object, user: str = "developer") -> bytes:
    group, _, version = old["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": old["kind"]}
    metadata = old["metadata"]
    return as_review(
        a_request(
            kind=kind,
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            userInfo={"username": user, "groups": []},
            object=new,
            oldObject=old,
        )
    )


def answered(engine: Engine, old: Object, new: Object, user: str = "developer") -> Explanation:
    return explain_review(update(old, new, user), policy_for(engine), None)


def edited(engine: Engine, user: str = "developer") -> Explanation:
    old, new = (example_of(engine, spec={"replicas": count}) for count in (3, 5))
    return answered(engine, old, new, user)


def a_controller_of(engine: Engine) -> str:
    return engine.controllers[0].replace("*", "any")


def steering(engine: Engine, **fields: Any) -> list[Object]:  # noqa: ANN401 - any JSON value
    return [
        an_object(f"{group}/v1/{kind}", **copy.deepcopy(fields))
        for group, kinds in engine.kinds.items()
        for kind in kinds
    ]


class TestIdentity:
    """Names, marks and kinds are the engine's alone."""

    def test_names_and_kinds_of_engines_are_unique(self) -> None:
        assert len(BY_NAME) == len(ENGINES)
        kinds = [(group, kind) for e in ENGINES for group in e.kinds for kind in e.kinds[group]]
        assert len(set(kinds)) == len(kinds)

    @every_engine
    def test_name_of_the_engine_is_a_valid_key_of_the_policy_file(self, engine: Engine) -> None:
        assert re.fullmatch("[a-z][a-z0-9]*", engine.name)
        assert engine.title
        assert set(engine.signs) <= set(engine.marks)

    @every_engine
    def test_object_with_the_mark_belongs_to_the_engine(self, engine: Engine) -> None:
        owner = owner_of(example_of(engine), policy_for(engine).engines)
        assert owner is not None
        assert owner.engine == engine.name

    @every_engine
    def test_object_without_the_mark_has_no_owner(self, engine: Engine) -> None:
        assert owner_of(without_marks(engine), policy_for(engine).engines) is None

    @every_engine
    def test_kinds_of_the_engine_are_its_reconcilers(self, engine: Engine) -> None:
        for obj in steering(engine):
            group = obj["apiVersion"].rpartition("/")[0]
            found = reconciler_of(Ref(group, "v1", obj["kind"], "prod", "web"))
            assert found == Owner(engine.name, "web", "prod", obj["kind"])


class TestGuard:
    """Who may write to what the engine owns."""

    @every_engine
    def test_denial_of_a_direct_write_names_the_engine(self, engine: Engine) -> None:
        found = edited(engine)
        decision = found.decision
        assert (decision.verdict, decision.clause) == (Verdict.DENY, Clause.GUARD)
        assert f"is managed by {engine.title}" in render_denial(decision, found.case)

    @every_engine
    def test_controller_of_the_engine_is_trusted(self, engine: Engine) -> None:
        if engine.controllers:
            assert edited(engine, a_controller_of(engine)).decision.clause is Clause.CONTROLLER

    @every_engine
    def test_removal_of_the_mark_is_denied(self, engine: Engine) -> None:
        decision = answered(engine, example_of(engine), without_marks(engine)).decision
        assert (decision.verdict, decision.clause) == (Verdict.DENY, Clause.MARKS)

    @every_engine
    def test_write_to_a_steering_object_is_not_noise(self, engine: Engine) -> None:
        for old in steering(engine, spec={"suspend": False}):
            found = answered(engine, old, old | {"spec": {"suspend": True}})
            assert found.decision.clause is Clause.GUARD
            assert (
                f"tells {engine.title} what to do" in render_warnings(found.decision, found.case)[0]
            )

    @every_engine
    def test_write_to_a_switch_is_not_noise(self, engine: Engine) -> None:
        for old in steering(engine):
            for key in engine.switches:
                new = copy.deepcopy(old)
                new["metadata"]["annotations"] = {key: "true"}
                assert answered(engine, old, new).decision.clause is Clause.GUARD
        assert engine.switches <= SWITCHES


class TestPolicyFile:
    """What a policy can say about the engine."""

    @every_engine
    def test_engine_can_be_disabled(self, engine: Engine) -> None:
        policy = a_policy(f"engines: {{{engine.name}: {{enabled: false}}}}")
        assert engine.name not in policy.engine_names
        assert owner_of(example_of(engine), policy.engines) is None

    @every_engine
    def test_engine_can_have_other_controllers(self, engine: Engine) -> None:
        policy = a_policy(f"engines: {{{engine.name}: {{controllers: [deployer]}}}}")
        assert "deployer" in policy.controllers[engine.name]

    @every_engine
    def test_mode_can_select_the_engine(self, engine: Engine) -> None:
        policy = policy_for(engine, f"modes: [{{mode: audit, engines: [{engine.name}]}}]")
        old, new = (example_of(engine, spec={"replicas": count}) for count in (3, 5))
        assert explain_review(update(old, new), policy, None).mode == "audit"

    @every_engine
    def test_schema_contains_the_engine(self, engine: Engine) -> None:
        assert engine.name in document_schema()["$defs"]["Engines"]["properties"]

    @every_engine
    def test_marker_cannot_have_the_name_of_the_engine(self, engine: Engine) -> None:
        with pytest.raises(Exception, match="is an engine that is known already"):
            a_policy(f"markers: [{{name: {engine.name}, label: x, controllers: [y]}}]")

    @every_engine
    def test_explanation_names_the_engine(self, engine: Engine, tmp_path: Path) -> None:
        review, policy = tmp_path / "review.json", tmp_path / "policy.yaml"
        old, new = (example_of(engine, spec={"replicas": count}) for count in (3, 5))
        review.write_bytes(update(old, new))
        head = "apiVersion: glasswarden.io/v1\nkind: Policy\n"
        policy.write_text(f"{head}engines: {{{engine.name}: {{enabled: true}}}}\n")
        command = ["policy", "explain", str(review), "--policy", str(policy), "--format", "json"]
        found = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).output)
        assert found["owner"]["engine"] == engine.name
        assert engine.title in found["message"]


def texts(policy: Policy, configuration: dict[str, Any]) -> str:
    return json.dumps(configuration["webhooks"]) + policy.digest


class TestRegistration:
    """What the API server evaluates, in its own expressions."""

    @every_engine
    def test_webhooks_select_objects_of_the_engine(self, engine: Engine) -> None:
        policy = policy_for(engine)
        for made in (validating_configuration, mutating_configuration):
            asked = texts(policy, made(policy, ENDPOINT))
            assert all(f"'{sign.key}' in" in asked for sign in engine.signs)
            assert all(f"'{group}'" in asked for group in engine.kinds)
            assert all(user in asked for user in engine.controllers if "*" not in user)

    @every_engine
    def test_writes_of_controllers_to_marks_and_switches_are_reviewed(self, engine: Engine) -> None:
        policy = policy_for(engine)
        asked = texts(policy, validating_configuration(policy, ENDPOINT))
        assert all(f"'{mark.key}'" in asked for mark in engine.marks)
        assert all(f"'{switch}'" in asked for switch in engine.switches)

    @every_engine
    def test_fallback_policy_contains_the_claim_of_the_engine_if_any(self, engine: Engine) -> None:
        [rules, _] = new_fallback_policy(policy_for(engine))
        variables = {each["name"]: each["expression"] for each in rules["spec"]["variables"]}
        if engine.cel_claims is None:
            assert all(sign.key in variables["owned"] for sign in engine.signs)
            assert f"'{engine.name}'" not in variables["engine"]
        for claim in engine.cel_claims or ():
            assert f"({claim.test}) ? '{engine.name}' : " in variables["engine"]
        assert all(group in variables["steers"] for group in engine.kinds)


class Cluster:
    """A cluster that serves the kinds of one engine and has some objects.

    They are known by their resource, or by the label selector that finds them.
    """

    def __init__(self, engine: Engine, **items: list[Object]) -> None:
        self._groups = [{"name": group} for group in engine.kinds]
        self._items = items

    def get(self, path: str) -> Object:
        if path == "/apis":
            return {"groups": self._groups}
        place, _, query = path.partition("?")
        selector = query.partition("&")[0].removeprefix("labelSelector=")
        key = selector if selector != query.partition("&")[0] else place.rpartition("/")[2]
        if key not in self._items:
            raise NotFound(path)
        return {"items": self._items[key], "metadata": {}}


def surveyed(engine: Engine, **items: list[Object]) -> Survey:
    return survey(Cluster(engine, **items))  # type: ignore[arg-type]  # as far as it is used here


class TestSetup:
    """The engine is found in a cluster, and the proposed policy serves it."""

    @every_engine
    def test_engine_is_detected_by_its_kinds(self, engine: Engine) -> None:
        found = surveyed(engine)
        assert found.engines == ((engine.name,) if engine.kinds else ())
        parse_document(propose(found))

    @every_engine
    def test_objects_of_the_engine_are_counted_and_its_managers_are_known(
        self, engine: Engine
    ) -> None:
        if not engine.options().enabled:
            return
        obj = example_of(engine)
        fields: Object = {"f:spec": {"f:replicas": {}}}
        obj["metadata"]["managedFields"] = [
            {"manager": name, "operation": "Update", "fieldsV1": fields}
            for name in engine.drift.field_managers
        ]
        resource = f"{obj['kind'].lower()}s"
        found = surveyed(engine, **{resource: [obj]})
        assert found.managed == {engine.name: 1}
        assert found.unknown_managers == ()


class TestDrift:
    """What the detector makes of the engine's writes."""

    @every_engine
    def test_field_managers_of_the_engine_are_owners(self, engine: Engine) -> None:
        owner = owner_of(example_of(engine), policy_for(engine).engines)
        known = managers_for(owner, policy_for(engine))
        assert engine.drift.field_managers
        assert all(map(known.applies, engine.drift.field_managers))

    @every_engine
    def test_engine_has_a_default_field_manager_for_each_kind_of_owner(
        self, engine: Engine
    ) -> None:
        for kind, manager in engine.drift.appliers.items():
            assert applier_of(Owner(engine.name, "shop", None, kind)) == manager
            assert manager in engine.drift.field_managers

    @every_engine
    def test_marks_of_the_engine_are_no_additions(self, engine: Engine) -> None:
        policy = policy_for(engine)
        for mark in engine.marks:
            assert is_engines_own(mark.path, policy.mark_keys)
        for domain in engine.drift.domains:
            path = path_of("metadata", "annotations", f"{domain}/anything")
            assert is_engines_own(path, frozenset())


@pytest.mark.parametrize("name", [e.name for e in ENGINES if e.git_location and e.name != "acme"])
def test_webhook_role_can_read_the_sources_of_the_engine(name: str) -> None:
    engine = BY_NAME[name]
    documents = yaml.safe_load_all((ROOT / "manifests/base/rbac-webhook.yaml").read_text())
    [role] = [each for each in documents if each["kind"] == "ClusterRole"]
    readable = {group for rule in role["rules"] for group in rule["apiGroups"]}
    assert not readable.isdisjoint(engine.kinds), f"a rule for {', '.join(engine.kinds)}"


@pytest.mark.slow
def test_new_engine_takes_one_module_and_one_entry(tmp_path: Path) -> None:
    for package in ("glasswarden", "webhook", "correlator", "certs", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "golden", "programs", "recorded")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    engines = tmp_path / "glasswarden/kube/engines"
    shutil.copy(Path(__file__).with_name("example_engine.py"), engines / "acme.py")
    registry = engines / "registry.py"
    text = registry.read_text()
    for line in ("    argocd,\n", "    argocd.ENGINE,\n"):
        assert text.count(line) == 1
        text = text.replace(line, line.replace("argocd", "acme") + line)
    registry.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "acme"]
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    ran = subprocess.run(
        [*command, *(f"tests/kube/engines/{name}.py" for name in ("test_contract", "acme_cases"))],
        cwd=tmp_path,
        env=own | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"\b[1-9]\d passed", ran.stdout), ran.stdout
