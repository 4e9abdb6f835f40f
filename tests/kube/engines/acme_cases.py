"""The engine that exists only in tests, where the contract cannot know what to expect.

`test_contract` runs these in a copy of the program that has it.
"""

from correlator.classify.advice import ignore_rule, revert_command
from correlator.classify.rule import Scene
from correlator.classify.rules import classify
from correlator.declared.manifests import is_hook, leaves_alone
from correlator.detector.managers import is_person
from correlator.detector.orphans import new_orphan, prune_plan
from correlator.finding import Class, Finding
from glasswarden.cli.options import kind_of
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.kube.engines.registry import BY_NAME
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import parse_path
from glasswarden.policy.decision import Clause
from glasswarden.policy.load import parse_document
from glasswarden.setup.proposal import propose
from tests.kube.builders import an_object
from tests.kube.engines.test_contract import answered, policy_for, steering, surveyed
from tests.policy.builders import NOW
from webhook.git_sources import source_of, with_namespace


class TestAcme:
    """The engine that exists only here, where the contract cannot know what to expect."""

    OWNER = Owner("acme", "shop", None, "Pipeline")

    def finding(self, path: str = "/spec/replicas", declared: object = 3) -> Finding:
        ref = Ref("apps", "v1", "Deployment", "prod", "web")
        return Finding(ref, parse_path(path), declared, 5, None, "git", owner=self.OWNER)

    def test_the_denial_says_where_git_is(self) -> None:
        class Server:
            def get(self, path: str) -> Object:
                assert path == "/apis/acme.example/v1/namespaces/acme-system/pipelines/shop"
                return {"spec": {"git": "https://git.example/shop", "folder": "deploy"}}

        owner = with_namespace(self.OWNER, policy_for(BY_NAME["acme"]))
        assert owner.namespace == "acme-system"
        found = source_of(owner, Server())  # type: ignore[arg-type]  # as far as it is used here
        assert found == GitLocation("https://git.example/shop", "deploy", "main")

    def test_a_diversion_is_guarded(self) -> None:
        engine = BY_NAME["acme"]
        [old] = steering(engine)
        for operation, clause in (("elsewhere", Clause.GUARD), ("hurry", Clause.NOISE)):
            assert answered(engine, old, old | {"operation": operation}).decision.clause is clause

    def test_the_setup_detects_its_controllers(self) -> None:
        spec = {"template": {"spec": {"serviceAccountName": "robot"}}}
        deployment = {"metadata": {"namespace": "ops"}, "spec": spec}
        proposed = propose(surveyed(BY_NAME["acme"], **{"app%3Dacme": [deployment]}))
        assert "# Acme." in proposed
        assert "- system:serviceaccount:ops:robot  # app=acme" in proposed
        assert "acme" in parse_document(proposed).engines.__struct_fields__

    def test_the_advice_is_its_own(self) -> None:
        assert ignore_rule(self.finding()) == "acme ignore /spec/replicas"
        assert revert_command(self.finding()) == "acme deploy shop"

    def test_its_marks_on_objects_are_heeded(self) -> None:
        def marked(key: str) -> Object:
            return an_object(annotations={f"acme.example/{key}": ""})

        assert is_hook(marked("hook"), self.OWNER)
        assert is_hook(marked("hook"), None)
        assert leaves_alone(marked("once"), self.OWNER) == "created once"
        orphan = new_orphan(marked("keep"), self.OWNER, "")
        assert prune_plan(orphan).kept_by == "acme.example/keep"

    def test_its_user_interface_is_a_person(self) -> None:
        assert is_person("acme-ui")

    def test_its_suspension_is_a_finding_about_the_reconciler(self) -> None:
        ref = Ref("acme.example", "v1", "Pipeline", "prod", "shop")
        finding = Finding(ref, parse_path("/spec/paused"), False, True, None, "git")
        verdict = classify(finding, Scene(policy_for(BY_NAME["acme"]), NOW)).verdict
        assert verdict is not None
        assert verdict.kind is Class.SYNC_AVAILABILITY

    def test_its_kinds_can_be_typed(self) -> None:
        assert kind_of("pl") == "Pipeline"
