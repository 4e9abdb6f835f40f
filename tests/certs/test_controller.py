"""Passes of the certificate controller, with a store in memory and late configurations."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from certs.configurations import OURS, Condition, Conditions, patch_for
from certs.controller import CertificateController
from certs.files import StateUnreadable
from certs.rotation import Phase, State
from glasswarden.cluster.lease import ObservedLease, is_free
from tests.certs.builders import HOSTS, NOW, TIMING, publishing, steady

VALIDATING, MUTATING = OURS


@dataclass
class Kept:
    """A store in memory."""

    state: State | None = None
    broken: bool = False
    location: str = "memory"

    def read(self) -> State | None:
        if self.broken:
            raise StateUnreadable("torn")
        return self.state

    def write(self, state: State) -> None:
        self.state, self.broken = state, False


@dataclass
class Configurations:
    """What API servers were told to trust."""

    bundles: list[bytes] = field(default_factory=list)
    gone: bool = False

    def publish(self, bundle: bytes) -> Conditions:
        if self.gone:
            return {VALIDATING: Condition.MISSING, MUTATING: Condition.NOT_NEEDED}
        current = bool(self.bundles) and self.bundles[-1] == bundle
        if not current:
            self.bundles.append(bundle)
        condition = Condition.CURRENT if current else Condition.PATCHED
        return {VALIDATING: condition, MUTATING: Condition.NOT_NEEDED}


def a_controller(store: Kept, configurations: Configurations) -> CertificateController:
    return CertificateController(store, configurations.publish, HOSTS, TIMING)


def test_first_pass_issues_a_certificate_and_publishes_its_bundle() -> None:
    store, configurations = Kept(), Configurations()
    done = a_controller(store, configurations).run_pass(NOW)
    assert store.state == done.state
    assert configurations.bundles == [done.state.bundle]


def test_full_rotation_removes_no_authority_before_its_time() -> None:
    store, configurations = Kept(publishing()), Configurations([steady().bundle])
    controller = a_controller(store, configurations)
    moments = [NOW + timedelta(seconds=seconds) for seconds in (0, 5, 30, 3600, 3700)]
    assert [controller.run_pass(now).state.phase for now in moments] == [
        Phase.PUBLISHING,  # patched just now: API servers have not read it
        Phase.PUBLISHING,
        Phase.OVERLAPPING,
        Phase.OVERLAPPING,
        Phase.STEADY,
    ]
    assert [bundle.count(b"BEGIN") for bundle in configurations.bundles] == [1, 2, 1]


def test_unreadable_state_is_reported_and_issued_anew() -> None:
    store = Kept(broken=True)
    done = a_controller(store, Configurations()).run_pass(NOW)
    assert done.problem == "torn"
    assert store.state is not None


def test_deleted_configuration_is_reported_as_missing() -> None:
    done = a_controller(Kept(steady()), Configurations(gone=True)).run_pass(NOW)
    assert done.missing == ("validatingwebhookconfigurations/glasswarden",)


class TestBundlePatch:
    def test_only_entries_with_another_bundle_are_patched(self) -> None:
        configuration = {
            "webhooks": [
                {"name": "guard.glasswarden.io", "clientConfig": {"caBundle": "UEVN"}},
                {"name": "scale.glasswarden.io", "clientConfig": {}},
            ]
        }
        assert patch_for(configuration, b"PEM") == [
            {"op": "test", "path": "/webhooks/1/name", "value": "scale.glasswarden.io"},
            {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "UEVN"},
        ]

    def test_configuration_without_webhooks_needs_no_patch(self) -> None:
        assert patch_for({}, b"PEM") == []


@pytest.mark.parametrize(
    ("seen", "free"),
    [
        pytest.param(None, True, id="never held"),
        pytest.param(ObservedLease("", "1", NOW), True, id="released"),
        pytest.param(ObservedLease("me", "1", NOW), True, id="ours"),
        pytest.param(ObservedLease("other", "1", NOW), False, id="another's"),
        pytest.param(
            ObservedLease("other", "1", NOW - timedelta(seconds=29)), False, id="just renewed"
        ),
        pytest.param(ObservedLease("other", "1", NOW - timedelta(seconds=30)), True, id="run out"),
    ],
)
def test_lease_is_free_when_its_holder_did_not_renew_it_for_its_duration(
    seen: ObservedLease | None, *, free: bool
) -> None:
    assert is_free(seen, "me", NOW, timedelta(seconds=30)) is free
