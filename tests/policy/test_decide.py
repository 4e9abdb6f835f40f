"""The verdict, clause by clause, in the order they are asked."""

from dataclasses import replace

import msgspec
import pytest

from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.policy.decide import CLAUSES
from glasswarden.policy.decision import Clause, Verdict
from glasswarden.policy.types import Actor, Mode, Operation
from tests.policy.builders import (
    ARGOCD,
    ARGOCD_CONTROLLER,
    AUTOSCALER,
    DEVELOPER,
    FLUX,
    FLUX_CONTROLLER,
    a_change,
    a_policy,
    a_write,
    decided,
)

ALLOW, DENY = Verdict.ALLOW, Verdict.DENY
FLUX_NAME = "/metadata/labels/kustomize.toolkit.fluxcd.io~1name"
RESTARTED = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"
IMAGE = a_change("/spec/template/spec/containers[name=app]/image", "web:1", "web:2")


def test_clauses_are_in_order_and_end_with_guard() -> None:
    assert tuple(CLAUSES) == tuple(Clause)
    assert next(reversed(CLAUSES)) is Clause.GUARD


class TestUnmanaged:
    def test_write_to_an_object_without_owner_is_allowed(self) -> None:
        decision = decided(a_write(owner=None))
        assert (decision.verdict, decision.clause) == (ALLOW, Clause.UNMANAGED)
        assert not decision.recorded

    def test_write_in_a_reserved_namespace_is_denied_without_owner(self) -> None:
        policy = a_policy("reservedNamespaces: [shop]")
        decision = decided(a_write(owner=None, operation=Operation.CREATE, changes=()), policy)
        assert (decision.verdict, decision.clause) == (DENY, Clause.GUARD)
        assert decision.message.startswith("namespace shop is reserved for GitOps")

    HELM_SECRET = Ref("", "v1", "Secret", "shop", "sh.helm.release.v1.web.v1")
    SHOP = Ref("", "v1", "Namespace", "", "shop")

    @pytest.mark.parametrize("operation", [Operation.CREATE, Operation.UPDATE, Operation.DELETE])
    def test_enabled_engines_can_write_in_a_reserved_namespace(self, operation: Operation) -> None:
        """helm-controller marks what it deploys, but not the Secret of its release."""
        policy = a_policy("reservedNamespaces: [shop]\nengines: {sveltos: {enabled: false}}")
        write = a_write(owner=None, target=self.HELM_SECRET, operation=operation)
        for actor, verdict in (
            (Actor("system:serviceaccount:flux-system:helm-controller"), ALLOW),
            (ARGOCD_CONTROLLER, ALLOW),
            (Actor("system:serviceaccount:projectsveltos:addon-controller"), DENY),
            (DEVELOPER, DENY),
        ):
            assert decided(replace(write, actor=actor), policy).verdict is verdict
        flux = replace(write, actor=FLUX_CONTROLLER)
        assert decided(flux, policy).clause is Clause.CONTROLLER

    def test_engine_cannot_write_objects_of_another_in_a_reserved_namespace(self) -> None:
        policy = a_policy("reservedNamespaces: [shop]")
        assert decided(a_write(actor=ARGOCD_CONTROLLER), policy).verdict is DENY

    def test_deletion_of_a_reserved_namespace_is_denied(self) -> None:
        policy = a_policy("reservedNamespaces: [sho*]")
        deletion = a_write(owner=None, target=self.SHOP, operation=Operation.DELETE, changes=())
        decision = decided(deletion, policy)
        assert (decision.verdict, decision.clause) == (DENY, Clause.GUARD)
        assert decision.message.startswith("namespace shop is reserved for GitOps, with all")
        assert decided(replace(deletion, actor=FLUX_CONTROLLER), policy).allowed
        assert decided(replace(deletion, operation=Operation.CREATE), policy).allowed

    def test_controlled_object_in_a_reserved_namespace_is_unmanaged(self) -> None:
        policy = a_policy("reservedNamespaces: ['*']")
        assert decided(a_write(owner=None, controlled=True), policy).clause is Clause.UNMANAGED


class TestNoise:
    def test_an_update_that_changes_nothing_is_allowed(self) -> None:
        decision = decided(a_write(changes=()))
        assert (decision.verdict, decision.clause) == (ALLOW, Clause.NOISE)

    @pytest.mark.parametrize("operation", [Operation.CREATE, Operation.DELETE])
    def test_creation_and_deletion_are_never_noise(self, operation: Operation) -> None:
        assert decided(a_write(changes=(), operation=operation)).verdict is DENY


class TestFinalizing:
    FINALIZER = a_change("/metadata/finalizers[=example.com~1cleanup]", "example.com/cleanup")

    def test_finalizers_of_a_terminating_object_can_be_removed(self) -> None:
        decision = decided(a_write(terminating=True, changes=(self.FINALIZER,)))
        assert (decision.verdict, decision.clause) == (ALLOW, Clause.FINALIZING)

    def test_second_deletion_of_a_terminating_object_is_allowed(self) -> None:
        write = a_write(terminating=True, operation=Operation.DELETE, changes=())
        assert decided(write).clause is Clause.FINALIZING

    def test_other_change_with_a_removed_finalizer_is_denied(self) -> None:
        assert decided(a_write(terminating=True, changes=(self.FINALIZER, IMAGE))).verdict is DENY

    def test_removal_of_a_finalizer_is_denied_unless_terminating(self) -> None:
        assert decided(a_write(changes=(self.FINALIZER,))).verdict is DENY


class TestEmergency:
    def test_emergency_group_is_allowed_and_recorded(self) -> None:
        decision = decided(a_write(actor=Actor("root", groups=("glasswarden:emergency",))))
        assert (decision.verdict, decision.clause, decision.recorded) == (
            ALLOW,
            Clause.EMERGENCY,
            True,
        )

    def test_emergency_group_is_named_by_the_policy(self) -> None:
        policy = a_policy("emergencyGroup: firefighters")
        assert decided(a_write(actor=Actor("x", groups=("firefighters",))), policy).allowed
        assert not decided(
            a_write(actor=Actor("x", groups=("glasswarden:emergency",))), policy
        ).allowed


class TestController:
    @pytest.mark.parametrize(
        ("actor", "owner", "verdict"),
        [
            pytest.param(FLUX_CONTROLLER, FLUX, ALLOW, id="Flux on its own"),
            pytest.param(ARGOCD_CONTROLLER, ARGOCD, ALLOW, id="Argo CD on its own"),
            pytest.param(ARGOCD_CONTROLLER, FLUX, DENY, id="Argo CD on Flux's"),
            pytest.param(Actor("kustomize-controller"), FLUX, DENY, id="a user of that name"),
            pytest.param(
                Actor("system:serviceaccount:argocd:argocd-server"), ARGOCD, DENY,
                id="a person behind Argo CD's web UI",
            ),
        ],
    )  # fmt: skip
    def test_controller_is_allowed_on_objects_of_its_engine_only(
        self, actor: Actor, owner: Owner, verdict: Verdict
    ) -> None:
        assert decided(a_write(actor=actor, owner=owner)).verdict is verdict

    def test_field_manager_of_a_controller_gives_no_rights(self) -> None:
        assert decided(a_write(manager="kustomize-controller")).verdict is DENY

    def test_policy_names_other_controllers_by_pattern(self) -> None:
        policy = a_policy(
            "engines: {flux: {controllers: ['system:serviceaccount:tenants-*:reconciler']}}"
        )
        tenant = Actor("system:serviceaccount:tenants-a:reconciler")
        assert decided(a_write(actor=tenant), policy).clause is Clause.CONTROLLER
        assert decided(a_write(actor=FLUX_CONTROLLER), policy).verdict is DENY


class TestDelegated:
    def test_autoscaler_is_delegated_replicas_only(self) -> None:
        replicas = a_change("/spec/replicas", 3, 9)
        scaled = decided(a_write(actor=AUTOSCALER, changes=(replicas,)))
        assert (scaled.clause, scaled.delegate) == (Clause.DELEGATED, "horizontal-pod-autoscaler")
        assert decided(a_write(actor=AUTOSCALER, changes=(replicas, IMAGE))).verdict is DENY

    @pytest.mark.parametrize(
        ("actor", "path"),
        [
            ("system:serviceaccount:keda:keda-operator", "/spec/replicas"),
            (
                "system:serviceaccount:cert-manager:cert-manager-cainjector",
                "/webhooks[name=x]/clientConfig/caBundle",
            ),
            ("system:serviceaccount:glasswarden:glasswarden-certs",
             "/webhooks[name=guard.glasswarden.io]/clientConfig/caBundle"),
            ("system:serviceaccount:kube-system:deployment-controller", "/spec/anything"),
        ],
    )  # fmt: skip
    def test_default_delegations_apply_without_configuration(self, actor: str, path: str) -> None:
        write = a_write(actor=Actor(actor), changes=(a_change(path, "a", "b"),))
        assert decided(write).clause is Clause.DELEGATED
        bare = a_policy("defaultDelegations: false")
        assert decided(write, bare).verdict is DENY

    @pytest.mark.parametrize(
        "name", ["generic-garbage-collector", "namespace-controller", "root-ca-cert-publisher"]
    )
    def test_system_controllers_of_kubernetes_can_delete(self, name: str) -> None:
        actor = Actor(f"system:serviceaccount:kube-system:{name}")
        write = a_write(actor=actor, operation=Operation.DELETE, changes=())
        assert decided(write).clause is Clause.DELEGATED

    def test_delegation_does_not_cover_deletion_by_default(self) -> None:
        write = a_write(actor=AUTOSCALER, operation=Operation.DELETE, changes=())
        assert decided(write).verdict is DENY

    def test_delegation_of_the_policy_covers_its_fields_and_kinds(self) -> None:
        policy = a_policy(
            "delegations:\n"
            "  - name: sidecar-injector\n"
            "    managers: [injector]\n"
            "    kinds: [Deployment]\n"
            "    fields: ['/spec/template/spec/containers[name=proxy]/**']\n"
        )
        added = a_change("/spec/template/spec/containers[name=proxy]", new={"name": "proxy"})
        assert decided(a_write(manager="injector", changes=(added,)), policy).allowed
        assert not decided(a_write(manager="injector", changes=(IMAGE,)), policy).allowed
        other = Ref("apps", "v1", "DaemonSet", "shop", "web")
        assert not decided(
            a_write(manager="injector", changes=(added,), target=other), policy
        ).allowed


class TestMarks:
    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(a_change(FLUX_NAME, "shop"), id="taken off"),
            pytest.param(a_change(FLUX_NAME, "shop", "mine"), id="changed"),
            pytest.param(
                a_change("/metadata/labels", {"kustomize.toolkit.fluxcd.io/name": "shop"}),
                id="removed with all labels",
            ),
            pytest.param(
                a_change("/metadata/annotations/argocd.argoproj.io~1tracking-id", new="x"),
                id="another engine's put on",
            ),
        ],
    )
    def test_change_of_ownership_marks_is_denied(self, change: Change) -> None:
        decision = decided(a_write(changes=(change,)))
        assert (decision.verdict, decision.clause) == (DENY, Clause.MARKS)

    def test_creation_with_ownership_marks_is_denied(self) -> None:
        decision = decided(a_write(operation=Operation.CREATE, changes=()))
        assert (decision.verdict, decision.clause) == (DENY, Clause.MARKS)
        assert "claims to be managed by" in decision.message

    def test_detach_right_passes_marks_and_is_decided_by_guard(self) -> None:
        policy = a_policy("detach: {groups: [platform]}\nmode: warn")
        actor = Actor("lead", groups=("platform",))
        decision = decided(a_write(actor=actor, changes=(a_change(FLUX_NAME, "shop"),)), policy)
        assert decision.clause is Clause.GUARD

    def test_change_of_another_label_is_decided_by_guard(self) -> None:
        decision = decided(a_write(changes=(a_change("/metadata/labels/team", "a", "b"),)))
        assert decision.clause is Clause.GUARD


class TestBenign:
    RESTART = a_change(RESTARTED, "2026-01-01T00:00:00Z", "2026-03-01T12:00:00Z")

    @pytest.mark.parametrize(
        "change",
        [
            RESTART,
            a_change(RESTARTED, new="2026-03-01T12:00:00Z"),
            a_change(
                "/spec/template/metadata/annotations",
                new={"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"},
            ),
        ],
        ids=["again", "first", "first annotation"],
    )
    def test_a_rollout_restart_is_allowed_and_recorded(self, change: Change) -> None:
        decision = decided(a_write(manager="kubectl-rollout", changes=(change,)))
        assert (decision.verdict, decision.clause, decision.recorded) == (
            ALLOW,
            Clause.BENIGN,
            True,
        )

    def test_other_change_with_a_restart_is_denied(self) -> None:
        assert decided(a_write(changes=(self.RESTART, IMAGE))).verdict is DENY

    def test_restart_is_denied_without_benign_operations(self) -> None:
        assert decided(a_write(changes=(self.RESTART,)), a_policy("benign: []")).verdict is DENY

    def test_pause_is_benign_only_if_the_policy_lists_it(self) -> None:
        pause = a_write(changes=(a_change("/spec/paused", new=True),))
        assert decided(pause).verdict is DENY
        assert decided(pause, a_policy("benign: [rollout-pause]")).clause is Clause.BENIGN

    def test_undo_is_recognized_by_its_manager_and_its_fields(self) -> None:
        policy = a_policy("benign: [rollout-undo]")
        undo = msgspec.structs.replace(IMAGE, manager="kubectl", operation="Update")
        applied = msgspec.structs.replace(undo, operation="Apply")
        replicas = msgspec.structs.replace(undo, path=parse_path("/spec/replicas"))
        assert decided(a_write(manager="kubectl", changes=(undo,)), policy).allowed
        for differing in (
            {"manager": "kubectl-edit"},
            {"changes": (applied,)},
            {"changes": (undo, replicas)},
            {"subresource": "status"},
        ):
            write = a_write(**{"manager": "kubectl", "changes": (undo,)} | differing)
            assert not decided(write, policy).allowed


class TestGuard:
    @pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.DELETE])
    def test_write_of_a_person_is_denied(self, operation: Operation) -> None:
        decision = decided(a_write(operation=operation))
        assert (decision.verdict, decision.clause, decision.mode) == (
            DENY,
            Clause.GUARD,
            Mode.ENFORCE,
        )
        assert decision.recorded

    def test_mode_warn_allows_with_the_denial_as_warning(self) -> None:
        decision = decided(a_write(), a_policy("mode: warn"))
        assert (decision.verdict, decision.mode, decision.recorded) == (ALLOW, Mode.WARN, True)
        assert "is managed by Flux" in decision.warnings[0]

    def test_mode_audit_allows_without_a_warning(self) -> None:
        decision = decided(a_write(), a_policy("mode: audit"))
        assert (decision.verdict, decision.mode, decision.recorded) == (ALLOW, Mode.AUDIT, True)
        assert decision.warnings == ()

    @pytest.mark.parametrize("mode", Mode)
    def test_dry_run_is_warned_and_never_denied(self, mode: Mode) -> None:
        decision = decided(a_write(dry_run=True), a_policy(f"mode: {mode}"))
        assert decision.verdict is ALLOW
        assert decision.warnings


class TestModes:
    POLICY = """
mode: enforce
modes:
  - {mode: audit, namespaces: ["dev-*"]}
  - {mode: warn, engines: [argocd], kinds: [apps/Deployment]}
  - {mode: warn, applications: [flux-system/legacy, old-*]}
  - {mode: audit, names: [scratch]}
  - {mode: warn, labels: {tier: "test*"}}
  - {mode: audit, labels: {canary: "*"}}
"""

    @pytest.mark.parametrize(
        ("differing", "mode"),
        [
            pytest.param({}, Mode.ENFORCE, id="no rule fits"),
            pytest.param({"target": Ref("", "v1", "Service", "dev-1", "x")}, Mode.AUDIT, id="ns"),
            pytest.param(
                {"target": Ref("", "v1", "Namespace", "", "dev-1")}, Mode.AUDIT, id="the ns itself"
            ),
            pytest.param({"owner": ARGOCD}, Mode.WARN, id="engine and kind"),
            pytest.param(
                {"owner": ARGOCD, "target": Ref("", "v1", "Service", "shop", "x")}, Mode.ENFORCE,
                id="engine but not kind",
            ),
            pytest.param(
                {"owner": Owner("flux", "legacy", "flux-system", "Kustomization")}, Mode.WARN,
                id="application with its namespace",
            ),
            pytest.param(
                {"owner": Owner("flux", "legacy", "tenant", "Kustomization")}, Mode.ENFORCE,
                id="the same name elsewhere",
            ),
            pytest.param({"owner": Owner("flux", "old-1", "x")}, Mode.WARN, id="app"),
            pytest.param({"target": Ref("", "v1", "Pod", "shop", "scratch")}, Mode.AUDIT, id="pod"),
            pytest.param({"labels": {"tier": "testing"}}, Mode.WARN, id="label"),
            pytest.param({"labels": {"tier": "prod"}}, Mode.ENFORCE, id="another label"),
            pytest.param({"labels": {"canary": ""}}, Mode.AUDIT, id="a label of any value"),
        ],
    )  # fmt: skip
    def test_first_matching_rule_sets_the_mode(
        self, differing: dict[str, object], mode: Mode
    ) -> None:
        assert decided(a_write(**differing), a_policy(self.POLICY)).mode is mode


class TestReconcilers:
    """The objects that configure an engine."""

    KUSTOMIZATION = Ref("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "flux-system", "shop")
    SUSPEND = a_change("/spec/suspend", new=True)

    def test_suspension_is_warned_about_and_recorded(self) -> None:
        decision = decided(a_write(target=self.KUSTOMIZATION, steers=True, changes=(self.SUSPEND,)))
        assert (decision.verdict, decision.mode, decision.recorded) == (ALLOW, Mode.WARN, True)
        assert decision.warnings[0].startswith(
            "Kustomization flux-system/shop tells Flux what to do"
        )

    def test_reconcilers_have_a_mode_of_their_own(self) -> None:
        policy = a_policy("mode: audit\nreconcilers: enforce")
        write = a_write(target=self.KUSTOMIZATION, steers=True, changes=(self.SUSPEND,))
        assert decided(write, policy).verdict is DENY

    @pytest.mark.parametrize(
        "change",
        [
            a_change("/metadata/annotations/reconcile.fluxcd.io~1requestedAt", new="now"),
            a_change("/metadata/annotations", new={"argocd.argoproj.io/refresh": "hard"}),
            a_change("/operation", new={"sync": {}}),
        ],
        ids=["flux reconcile", "argocd refresh", "argocd sync"],
    )
    def test_request_for_reconciliation_is_noise(self, change: Change) -> None:
        write = a_write(target=self.KUSTOMIZATION, steers=True, changes=(change,))
        assert decided(write).clause is Clause.NOISE

    @pytest.mark.parametrize(
        "change",
        [
            a_change(
                "/metadata/annotations/kustomize.toolkit.fluxcd.io~1reconcile", new="disabled"
            ),
            a_change("/metadata/annotations", new={"argocd.argoproj.io/skip-reconcile": "true"}),
            a_change("/metadata/annotations/argocd.argoproj.io~1sync-options", new="Prune=false"),
            a_change("/metadata/annotations/argocd.argoproj.io~1compare-options", new="x"),
            a_change("/metadata/annotations/fluxcd.controlplane.io~1reconcile", new="disabled"),
        ],
        ids=["flux", "argocd", "sync options", "compare options", "flux operator"],
    )
    def test_annotation_that_disables_reconciliation_is_guarded(self, change: Change) -> None:
        write = a_write(target=self.KUSTOMIZATION, steers=True, changes=(change,))
        assert decided(write).clause is Clause.GUARD

    APPLICATION = Ref("argoproj.io", "v1alpha1", "Application", "argocd", "shop")

    @pytest.mark.parametrize("diverts", [True, False])
    def test_sync_operation_is_guarded_only_when_it_diverts(self, *, diverts: bool) -> None:
        change = a_change("/operation", new={"sync": {"revision": "mine"}})
        write = a_write(
            target=self.APPLICATION, owner=ARGOCD, steers=True, diverts=diverts, changes=(change,)
        )
        assert decided(write).clause is (Clause.GUARD if diverts else Clause.NOISE)

    def test_removal_of_the_cascade_finalizer_is_guarded(self) -> None:
        finalizer = "resources-finalizer.argocd.argoproj.io"
        change = a_change(f"/metadata/finalizers[={finalizer}]", finalizer)
        write = a_write(target=self.APPLICATION, owner=ARGOCD, steers=True, changes=(change,))
        assert decided(write).clause is Clause.GUARD
        assert decided(replace(write, terminating=True)).clause is Clause.FINALIZING

    def test_marks_of_a_reconciler_are_guarded(self) -> None:
        write = a_write(
            target=self.KUSTOMIZATION, steers=True, changes=(a_change(FLUX_NAME, "shop"),)
        )
        assert decided(write).clause is Clause.MARKS

    def test_controller_of_the_engine_can_write_its_reconciler(self) -> None:
        write = a_write(
            target=self.KUSTOMIZATION, steers=True, actor=FLUX_CONTROLLER, changes=(self.SUSPEND,)
        )
        assert decided(write).clause is Clause.CONTROLLER

    def test_creation_by_hand_is_warned_about(self) -> None:
        write = a_write(
            target=self.KUSTOMIZATION, steers=True, operation=Operation.CREATE, changes=()
        )
        assert (decided(write).clause, decided(write).mode) == (Clause.GUARD, Mode.WARN)


def test_user_name_similar_to_a_controller_is_denied() -> None:
    posing = Actor("system:serviceaccount:flux-system:kustomize-controller ", DEVELOPER.uid)
    assert decided(a_write(actor=posing)).verdict is DENY
