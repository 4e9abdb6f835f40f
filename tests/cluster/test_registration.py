"""What the API server asks the webhook about, by the conditions that follow from a policy."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.applications import Manifest, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, registered, serving
from tests.cluster.kubectl import Caller
from tests.cluster.wiretap import Wiretap, tapped
from webhook.server.fast_http import parse_head

POLICY = """
reservedNamespaces: [reserved-*]
emergencyGroup: firefighters
markers:
  - {name: deployer, annotation: example.com/deployed-by, value: deployer, controllers: [deployer]}
"""


@pytest.fixture(scope="module")
def asked(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Guard, Wiretap]]:
    """Return a guard, and the wiretap through which the API server asks it."""
    with (
        serving(cluster, tmp_path_factory.mktemp("guard"), POLICY) as guard,
        tapped(guard) as (tap, url),
        registered(cluster, url, guard.certificates.authority, guard.policy),
    ):
        yield guard, tap


@contextmanager
def questions(tap: Wiretap, expected: int) -> Iterator[None]:
    """Assert that the API server asks that often; it may ask again about one write."""
    before = len(tap.reviews)
    yield
    asked = [summary(review) for review in tap.reviews[before:]]
    assert len(asked) >= expected
    assert expected > 0 or asked == []


def summary(review: bytes) -> str:
    request = json.loads(review)["request"]
    what = f"{request['operation']} {request['resource']['resource']}/{request.get('subResource')}"
    return f"{request['userInfo']['username']}: {what} {request.get('name')}"


def config_map(name: str, namespace: str, **annotations: str) -> Manifest:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_webhook_is_not_called_for_unmanaged_objects(
    asked: tuple[Guard, Wiretap], namespace: str
) -> None:
    guard, tap = asked
    developer = guard.cluster.as_("developer")
    with questions(tap, 0):
        developer.kubectl("create", "-f", "-", stdin=deployment("web", namespace))
        developer.kubectl("set", "image", "deployment/web", "app=x", "-n", namespace)
        developer.kubectl("delete", "deployment/web", "-n", namespace)


def test_calls_of_the_api_server_use_the_fast_http_path(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    guard, tap = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with questions(tap, 1):
        edit = ("set", "image", "deployment/web", "app=x", "-n", namespace)
        guard.cluster.as_("developer").kubectl(*edit, check=False)
    heads = [parse_head(head) for head in tap.heads]
    assert heads
    assert all(head is not None for head in heads), tap.heads


def test_webhook_is_not_called_for_controllers_of_the_owning_engine(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    _, tap = asked
    with questions(tap, 0):
        for replicas in (3, 4):
            manifest = by_flux(deployment("web", namespace, replicas=replicas), "shop")
            flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
        flux_account.kubectl("delete", "deployment/web", "-n", namespace)


def test_webhook_denies_the_controller_of_another_engine(
    asked: tuple[Guard, Wiretap], flux_account: Caller, argocd_account: Caller, namespace: str
) -> None:
    _, tap = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with questions(tap, 1):
        denied = argocd_account.kubectl(
            "label", "deployment/web", "a=b", "-n", namespace, check=False
        )
    assert "is managed by Flux" in denied.stderr


def test_webhook_is_not_called_for_the_emergency_group(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    guard, tap = asked
    manifest = by_flux(deployment("web", namespace), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    posing = ("--as=root", "--as-group=firefighters", "--as-group=system:masters")
    with questions(tap, 0):
        admin = guard.cluster.as_("admin")
        admin.kubectl("scale", "deployment/web", "--replicas=9", "-n", namespace, *posing)
        admin.kubectl("set", "image", "deployment/web", "app=x", "-n", namespace, *posing)
        admin.kubectl("delete", "deployment/web", "-n", namespace, *posing)


def test_marker_of_the_policy_guards_like_an_engine(
    asked: tuple[Guard, Wiretap], namespace: str
) -> None:
    guard, tap = asked
    admin = guard.cluster.as_("admin")
    marks = {"example.com/deployed-by": "deployer"}
    deployer = ("--as=deployer", "--as-group=system:masters")
    with questions(tap, 0):
        admin.kubectl("create", "-f", "-", *deployer, stdin=config_map("it", namespace, **marks))
    with questions(tap, 1):
        denied = guard.cluster.as_("developer").kubectl(
            "patch", "configmap/it", "-n", namespace, "-p", '{"data": {"a": "b"}}', check=False
        )
    assert f"ConfigMap {namespace}/it is managed by deployer" in denied.stderr


def test_creation_in_a_reserved_namespace_is_denied_without_gitops(
    asked: tuple[Guard, Wiretap],
) -> None:
    guard, _ = asked
    admin, developer = guard.cluster.as_("admin"), guard.cluster.as_("developer")
    admin.kubectl("create", "namespace", "reserved-1")
    denied = developer.kubectl(
        "create", "-f", "-", stdin=config_map("own", "reserved-1"), check=False
    )
    assert "namespace reserved-1 is reserved for GitOps" in denied.stderr
    # Kubernetes itself goes on working in there.
    assert guard.cluster.get("serviceaccount/default", "-n", "reserved-1")


def test_webhook_is_not_called_for_engines_in_a_reserved_namespace(
    asked: tuple[Guard, Wiretap], flux_account: Caller, argocd_account: Caller
) -> None:
    """The Secret of a Helm release has no marks."""
    guard, tap = asked
    guard.cluster.as_("admin").kubectl("create", "namespace", "reserved-2")
    with questions(tap, 0):
        for account, name in ((flux_account, "one"), (argocd_account, "two")):
            account.kubectl("create", "-f", "-", stdin=config_map(name, "reserved-2"))
            account.kubectl("delete", f"configmap/{name}", "-n", "reserved-2")
    manifest = by_flux(deployment("web", "reserved-2"), "shop")
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with questions(tap, 1):
        denied = argocd_account.kubectl(
            "label", "deployment/web", "a=b", "-n", "reserved-2", check=False
        )
    assert "is managed by Flux" in denied.stderr


def test_deletion_of_a_reserved_namespace_is_denied(
    asked: tuple[Guard, Wiretap], flux_account: Caller
) -> None:
    guard, tap = asked
    admin = guard.cluster.as_("admin")
    admin.kubectl("create", "namespace", "reserved-3")
    denied = admin.kubectl("delete", "namespace", "reserved-3", "--wait=false", check=False)
    assert "namespace reserved-3 is reserved for GitOps, with all that is in it" in denied.stderr
    admin.kubectl("label", "namespace", "reserved-3", "team=a")
    with questions(tap, 0):
        flux_account.kubectl("delete", "namespace", "reserved-3", "--wait=false")


def test_scale_of_a_new_object_is_denied_before_the_watch_has_it(
    asked: tuple[Guard, Wiretap], flux_account: Caller, namespace: str
) -> None:
    """The parent is then read directly."""
    guard, _ = asked
    for name in ("one", "two", "three"):
        manifest = by_flux(deployment(name, namespace), "shop")
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
        denied = guard.cluster.as_("developer").kubectl(
            "scale", f"deployment/{name}", "--replicas=9", "-n", namespace, check=False
        )
        assert "scale.glasswarden.io" in denied.stderr
        assert "is managed by Flux" in denied.stderr


def test_unmanaged_deployment_can_be_scaled(asked: tuple[Guard, Wiretap], namespace: str) -> None:
    guard, _ = asked
    developer = guard.cluster.as_("developer")
    developer.kubectl("create", "-f", "-", stdin=deployment("web", namespace))
    developer.kubectl("scale", "deployment/web", "--replicas=9", "-n", namespace)
