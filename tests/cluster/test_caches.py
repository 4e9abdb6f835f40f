"""What the webhook keeps in memory, from a real API server that holds unusual objects."""

import json
from collections.abc import Iterator

import pytest
import urllib3

from glasswarden.cluster.client import ApiServer
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.kube.objects import decode_pruned
from tests.cluster.applications import by_flux, deployment
from tests.cluster.audit import DEEPLY_NESTED
from tests.cluster.controlplane import ControlPlane
from tests.cluster.retries import eventually
from webhook.caches import NAMESPACES, Parents, Watched
from webhook.review import Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments")
DEEP = 3000
"""Levels in managedFields: the API server takes three times as many."""


@pytest.fixture
def server(cluster: ControlPlane) -> ApiServer:
    return ApiServer(access_from(cluster.kubeconfig("admin")), "tests", decode_pruned)


@pytest.fixture(scope="module")
def namespace(cluster: ControlPlane) -> Iterator[str]:
    """Give a namespace whose objects other tests do not find in the audit log."""
    admin = cluster.as_("admin")
    admin.kubectl("create", "namespace", DEEPLY_NESTED)
    yield DEEPLY_NESTED
    admin.kubectl("delete", "namespace", DEEPLY_NESTED, "--wait=false")


@pytest.fixture
def deep(cluster: ControlPlane, namespace: str) -> Iterator[str]:
    """Give the name of a Deployment whose managedFields are nested beyond what Python decodes."""
    admin = cluster.as_("admin")
    admin.kubectl(
        "apply", "--server-side", "-f", "-", stdin=by_flux(deployment("deep", namespace), "shop")
    )
    found = json.loads(
        admin.kubectl("get", "deployment/deep", "-n", namespace, "-o", "json").stdout
    )
    found["metadata"]["managedFields"] = [
        {"manager": "x", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
        | {"fieldsV1": {"f:spec": "DEEP"}}
    ]
    fields = '{"f:x":' * DEEP + "{}" + "}" * DEEP
    body = json.dumps(found).replace('"DEEP"', fields)
    access = access_from(cluster.kubeconfig("admin"))
    answer = urllib3.PoolManager(ssl_context=access.tls).request(
        "PUT",
        f"{access.server}/apis/apps/v1/namespaces/{namespace}/deployments/deep",
        body=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status == 200, answer.data[:1000]
    assert answer.data.count(b'"f:x"') == DEEP
    yield "deep"
    admin.kubectl("delete", "deployment/deep", "-n", namespace)


def test_deeply_nested_object_removes_no_other_object_from_the_cache(
    cluster: ControlPlane, server: ApiServer, namespace: str, deep: str
) -> None:
    watched = Watched(server, DEPLOYMENTS)
    watched.start()

    def names() -> set[str]:
        return {name for place, name in watched.objects or {} if place == namespace}

    eventually(lambda: names() == {deep}, "the list")
    cluster.as_("admin").kubectl(
        "apply", "--server-side", "-f", "-", stdin=deployment("web", namespace)
    )
    eventually(lambda: names() == {deep, "web"}, "the event")
    kept = (watched.objects or {})[namespace, deep]
    assert kept["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == "shop"


def test_deeply_nested_object_can_be_read_directly(
    server: ApiServer, namespace: str, deep: str
) -> None:
    found = Parents(server).read(DEPLOYMENTS, namespace, deep)
    assert found["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == "shop"


def test_empty_list_is_cached_as_an_empty_list(server: ApiServer) -> None:
    watched = Watched(server, NAMESPACES, label="example.com/nobody-has-this")
    watched.start()
    eventually(lambda: watched.objects is not None, "the list")
    assert watched.objects == {}
