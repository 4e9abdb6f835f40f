"""Break-glass with real kubectl on the real API server: grants, forged stamps, and their end."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding, webhook_configuration
from tests.cluster.kubectl import Caller, Result, replace
from tests.cluster.retries import eventually

PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - name: cleaners
      groups: [oncall]
      names: [old-*]
      operations: [update, delete]
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 4h}
      closed: [/spec/template/spec/serviceAccountName]
    - name: developers
      groups: [developers]
      ticket: CHG-[0-9]+
      ttl: {longest: 1h}
      approval: {groups: [leads], within: 10m}
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "1h"}
MORE_REPLICAS = replace("replicas: 3", "replicas: 5")


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("guard"), POLICY) as running:
        yield running


@pytest.fixture(autouse=True)
def web(guard: Guard, flux_account: Caller, namespace: str) -> "Web":
    """Return Flux's Deployment, with both of our webhooks in place."""
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    found = Web(guard.cluster, namespace)
    # The API server takes a registration up in its own time; the mutating webhook fails open.
    asked = {"reason": "is the webhook registered by now", "ticket": "INC-1", "ttl": "1m"}
    eventually(
        lambda: found.annotate("responder", "--dry-run=server", **asked).returncode == 0,
        "the mutating webhook's registration",
    )
    return found


class Web:
    """The Deployment web, and what people do to it."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.target = "deployment/web"

    def kubectl(self, person: str, *arguments: str, **more: Any) -> Result:  # noqa: ANN401
        place = ("-n", self.namespace) if self.target.startswith("deployment") else ()
        return self.cluster.as_(person).kubectl(*arguments, *place, check=False, **more)

    def annotate(self, person: str, *options: str, **texts: str | None) -> Result:
        words = [
            f"{PREFIX}{name}-" if text is None else f"{PREFIX}{name}={text}"
            for name, text in texts.items()
        ]
        return self.kubectl(person, "annotate", self.target, "--overwrite", *words, *options)

    def image(self, person: str, tag: str) -> Result:
        image = f"app=registry.example/web:{tag}"
        return self.kubectl(person, "set", "image", "deployment/web", image)

    def scale(self, person: str, replicas: int) -> Result:
        return self.kubectl(person, "scale", "deployment/web", f"--replicas={replicas}")

    @property
    def object(self) -> dict[str, Any]:
        place = ("-n", self.namespace) if self.target.startswith("deployment") else ()
        found: dict[str, Any] = self.cluster.get(self.target, *place)
        return found

    @property
    def annotations(self) -> dict[str, str]:
        """Ours, by their short names."""
        found: dict[str, str] = self.object["metadata"].get("annotations", {})
        return {
            name.removeprefix(PREFIX): text
            for name, text in found.items()
            if name.startswith(PREFIX)
        }


def refused(result: Result) -> str:
    assert result.returncode == 1, result
    assert "denied the request" in result.stderr
    return result.stderr


def done(result: Result) -> str:
    assert result.returncode == 0, result
    return result.stderr


def test_denial_shows_the_break_command_to_copy(web: Web, namespace: str) -> None:
    message = refused(web.image("responder", "2"))
    command = f"kubectl glasswarden break deployment/web -n {namespace} --ticket TICKET"
    assert f'To break the glass:\n  {command} --reason "REASON" --ttl 30m\n' in message
    assert "Who may break the glass here: group oncall, group developers." in refused(
        web.image("outsider", "2")
    )


def test_request_and_change_in_one_write_are_allowed(
    web: Web, guard: Guard, namespace: str
) -> None:
    patch = {
        "metadata": {"annotations": {f"{PREFIX}{name}": text for name, text in ASK.items()}},
        "spec": {"replicas": 5},
    }
    told = done(web.kubectl("responder", "patch", "deployment/web", "-p", json.dumps(patch)))
    assert f"responder may write to Deployment {namespace}/web until" in told
    assert web.object["spec"]["replicas"] == 5
    record = guard.records_in(namespace)[-1]
    assert (record.verdict, record.clause, record.actor) == ("allow", "breakglass", "responder")
    assert [change.path for change in record.changes] == ["/spec/replicas"]


def test_edit_after_an_annotated_request_is_allowed(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    before = web.annotations["grant"]
    done(web.kubectl("responder", "edit", "deployment/web", editor=MORE_REPLICAS))
    assert web.object["spec"]["replicas"] == 5
    assert web.annotations["grant"] != before  # it remembers the field that was changed
    done(web.image("responder", "2"))
    assert "the grant for INC-42 is responder's" in refused(web.image("developer", "3"))


def test_server_side_apply_of_some_fields_is_allowed_under_a_grant(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    fields = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": web.namespace},
        "spec": {"replicas": 7},
    }
    apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=me", "-f", "-")
    done(web.kubectl("responder", *apply, stdin=fields))
    assert web.object["spec"]["replicas"] == 7


def test_scale_is_allowed_under_a_grant_to_its_holder_only(web: Web) -> None:
    refused(web.scale("responder", 9))
    done(web.annotate("responder", **ASK))
    done(web.scale("responder", 9))  # at once: before it is refused, the object is read again
    assert web.object["spec"]["replicas"] == 9
    assert "the grant for INC-42 is responder's" in refused(web.scale("developer", 1))


def test_delete_is_denied_where_the_rule_does_not_name_it(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    message = refused(web.kubectl("responder", "delete", "deployment/web"))
    assert "the grant for INC-42 does not cover delete: rule 'responders' does not name" in message


def test_delete_is_allowed_where_the_rule_names_it(
    web: Web, flux_account: Caller, namespace: str
) -> None:
    old = by_flux(deployment("old-web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=old)
    web.target = "deployment/old-web"
    refused(web.kubectl("responder", "delete", "deployment/old-web"))
    done(web.annotate("responder", **ASK))
    done(web.kubectl("responder", "delete", "deployment/old-web"))


def test_request_is_denied_with_what_the_rule_requires(web: Web) -> None:
    for texts, why in (
        ({**ASK, "ticket": "none"}, "the ticket 'none' does not match INC-[0-9]+"),
        ({**ASK, "reason": "broken"}, "a reason has at least 10 characters"),
        ({**ASK, "ttl": "5h"}, "a grant lives at most 4h, extensions included"),
        ({**ASK, "ttl": "soon"}, "'soon' is not a duration such as 30m"),
    ):
        message = refused(web.annotate("responder", **texts))
        assert f"Break-glass: by rule 'responders', {why}" in message
    assert "no rule lets outsider break the glass here" in refused(web.annotate("outsider", **ASK))
    assert web.annotations == {}


def test_closed_field_is_denied_under_a_grant(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    message = refused(
        web.kubectl("responder", "set", "serviceaccount", "deployment/web", "default")
    )
    assert "/spec/template/spec/serviceAccountName stays closed even under a grant" in message


def test_request_needs_the_approval_of_a_second_person(web: Web) -> None:
    told = done(web.annotate("developer", **ASK | {"ticket": "CHG-7"}))
    assert "for group leads to approve:" in told
    assert web.annotations["approval"] == "pending"
    request = web.annotations["request"].partition(":")[0]
    assert f"{PREFIX}approve={request}" in told
    refused(web.image("developer", "2"))
    message = refused(web.annotate("developer", approve=request))
    assert "somebody else approves, not developer" in message
    assert "outsider is none of the approvers" in refused(web.annotate("outsider", approve=request))
    done(web.annotate("lead", approve=request))
    done(web.image("developer", "2"))
    assert "the grant for CHG-7 is developer's" in refused(web.image("lead", "3"))


def test_grant_expires_by_itself(web: Web) -> None:
    done(web.annotate("responder", **ASK | {"ttl": "3s"}))
    done(web.image("responder", "2"))
    time.sleep(3.1)
    assert "the grant for INC-42 expired at" in refused(web.image("responder", "3"))
    assert "expired at" in refused(web.scale("responder", 2))
    done(web.kubectl("outsider", "rollout", "restart", "deployment/web"))
    assert web.annotations == {}


def test_grant_is_extended_and_closed_by_its_holder(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    assert "may write to" in done(web.annotate("responder", ttl="2h"))
    assert "may not end a grant" in refused(web.annotate("outsider", reason=None))
    told = done(web.annotate("responder", reason=None, outcome="reverted"))
    assert "The grant for INC-42 is closed" in told
    assert web.annotations == {"outcome": "reverted"}
    refused(web.image("responder", "2"))


def test_stamp_written_by_hand_is_rejected(web: Web) -> None:
    done(web.annotate("responder", **ASK))
    token = web.annotations["grant"]
    assert "its stamp does not count: it is no token" in refused(
        web.annotate("outsider", grant="let-me-in")
    )
    done(web.annotate("outsider", grant=None))
    assert web.annotations["grant"] == token
    done(web.annotate("responder", reason=None))
    assert "it was issued for another write" in refused(web.annotate("responder", grant=token))


def test_stamp_copied_to_another_object_is_rejected(
    web: Web, flux_account: Caller, namespace: str
) -> None:
    other = by_flux(deployment("api", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=other)
    done(web.annotate("responder", **ASK))
    token = web.annotations["grant"]
    web.target = "deployment/api"
    assert "it was issued for another object" in refused(web.annotate("responder", grant=token))


def test_token_of_a_dry_run_is_rejected(web: Web) -> None:
    shown = web.annotate("responder", "--dry-run=server", "-o", "json", **ASK).json()
    token = shown["metadata"]["annotations"][f"{PREFIX}grant"]
    assert web.annotations == {}
    assert "it was issued for another write" in refused(web.annotate("responder", grant=token))


def test_a_grant_on_a_namespace_is_stamped_and_labelled(web: Web, namespace: str) -> None:
    web.target = f"namespace/{namespace}"
    message = refused(web.annotate("responder", **ASK | {"ticket": "none"}))
    assert "the ticket 'none' does not match" in message
    told = done(web.annotate("responder", **ASK))
    assert f"responder may write to all in Namespace {namespace} until" in told
    assert web.object["metadata"]["labels"][f"{PREFIX}active"] == "true"
    token = web.annotations["grant"]
    done(web.annotate("responder", reason=None))
    assert f"{PREFIX}active" not in web.object["metadata"]["labels"]
    assert "it was issued for another write" in refused(web.annotate("responder", grant=token))


def test_request_without_the_mutating_webhook_is_denied(
    web: Web, guard: Guard, request: pytest.FixtureRequest
) -> None:
    both: Any = webhook_configuration(guard.url, guard.certificates.authority, guard.policy)
    [mutating] = [each for each in both["items"] if each["kind"].startswith("Mutating")]
    done(web.annotate("responder", **ASK))
    token = web.annotations["grant"]
    admin = guard.cluster.as_("admin")
    request.addfinalizer(lambda: guard.cluster.apply(mutating))
    admin.kubectl("delete", "-f", "-", stdin=mutating)

    def extended() -> Result:
        return web.annotate("responder", ttl=f"{time.monotonic_ns() % 10_000 + 3600}s")

    message = eventually(
        lambda: extended().stderr if extended().returncode else "", "the registration to go"
    )
    assert "the request was not stamped" in message
    assert "a grant is ended by removing its reason" in refused(
        web.annotate("outsider", grant=None)
    )
    done(web.annotate("responder", reason=None))  # the way out is never barred
    refused(web.image("responder", "2"))
    refused(web.annotate("responder", **ASK, grant=token))


def test_stamp_from_git_grants_nothing_without_the_mutating_webhook(
    web: Web, guard: Guard, flux_account: Caller, request: pytest.FixtureRequest
) -> None:
    both: Any = webhook_configuration(guard.url, guard.certificates.authority, guard.policy)
    [mutating] = [each for each in both["items"] if each["kind"].startswith("Mutating")]
    done(web.annotate("responder", **ASK))
    stood = web.annotations
    done(web.annotate("responder", reason=None))
    request.addfinalizer(lambda: guard.cluster.apply(mutating))
    guard.cluster.as_("admin").kubectl("delete", "-f", "-", stdin=mutating)
    manifest = by_flux(deployment("web", web.namespace), "shop")
    declared = {f"{PREFIX}{name}": text for name, text in stood.items()}
    manifest["metadata"]["annotations"] |= declared
    apply = ("apply", "--server-side", "--field-manager=kustomize-controller")

    def brought() -> bool:
        flux_account.kubectl(*apply, "--force-conflicts", "-f", "-", stdin=manifest)
        return "grant" in web.annotations

    eventually(brought, "the registration to go")
    for edit in (web.image("responder", "2"), web.scale("responder", 9)):
        assert "denied the request" in edit.stderr
    assert "it was applied, from Git or by hand" in refused(web.image("responder", "2"))


def test_reconciler_applies_and_keeps_the_stamp_under_a_grant(
    web: Web, flux_account: Caller
) -> None:
    done(web.annotate("responder", **ASK))
    before = web.annotations
    manifest = by_flux(deployment("web", web.namespace, replicas=4), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    assert web.annotations == before
    assert web.object["spec"]["replicas"] == 4
