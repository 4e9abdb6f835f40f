"""Fields that Git does not declare are additions, depending on their managers."""

import json
from typing import Any

import pytest

from glasswarden.kube.objects import Object
from tests.correlator.builders import FLUX, fields, found, owned
from tests.kube.builders import a_custom_object, a_deployment, an_entry, an_object, managed_by

APP = "/spec/template/spec/containers[name=app]"


def a_container(**fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    return a_deployment({"name": "app", **fields})


def added(declared: Object, live: Object, *held: str, manager: str = "kubectl-edit") -> set[str]:
    """Return the fields found when *manager* holds *held* of *live*, which Flux owns."""
    return set(fields(declared, owned(live, an_entry(manager, *held))))


def test_added_variable_is_an_addition() -> None:
    live = a_container(env=[{"name": "DEBUG", "value": "1"}])
    assert added(a_container(), live, f"{APP}/env[name=DEBUG]", f"{APP}/env[name=DEBUG]/value") == {
        f"{APP}/env[name=DEBUG]"
    }


def test_added_label_is_an_addition() -> None:
    live = an_object(labels={"team": "x"})
    assert added(an_object(), live, "/metadata/labels/team") == {"/metadata/labels/team"}


def test_annotations_of_break_glass_are_no_additions() -> None:
    outcome = "breakglass.glasswarden.io/outcome"
    live = an_object(annotations={outcome: "backported"})
    held = f"/metadata/annotations/{outcome.replace('/', '~1')}"
    assert added(an_object(), live, held, manager="kubectl-glasswarden") == set()


def test_added_container_is_an_addition() -> None:
    live = a_deployment({"name": "app"}, {"name": "debug", "image": "shell"})
    held = "/spec/template/spec/containers[name=debug]"
    assert added(a_container(), live, held, f"{held}/image") == {held}


def test_added_field_below_a_declared_one_is_an_addition() -> None:
    declared = a_container(securityContext={"runAsUser": 1})
    live = a_container(securityContext={"runAsUser": 1, "privileged": True})
    path = f"{APP}/securityContext/privileged"
    assert added(declared, live, path) == {path}


def test_added_member_of_a_set_is_an_addition() -> None:
    declared = an_object(metadata={"finalizers": ["a"]})
    live = an_object(metadata={"finalizers": ["a", "b"]})
    assert added(declared, live, "/metadata/finalizers[=b]") == {"/metadata/finalizers[=b]"}


def test_added_entry_of_an_atomic_map_is_an_addition() -> None:
    declared = an_object("v1/Service", spec={"selector": {"app": "web"}})
    live = an_object("v1/Service", spec={"selector": {"app": "web", "canary": "yes"}})
    assert added(declared, live, "/spec/selector") == {"/spec/selector/canary"}


def test_added_field_inside_an_atomic_list_is_an_addition() -> None:
    declared = a_custom_object(spec={"routes": [{"to": "a"}]})
    live = a_custom_object(spec={"routes": [{"to": "a", "weight": 5}]})
    assert added(declared, live, "/spec/routes") == {"/spec/routes[0]/weight"}


def test_port_with_a_defaulted_protocol_is_no_addition() -> None:
    declared = an_object("v1/Service", spec={"ports": [{"port": 80}]})
    live = an_object("v1/Service", spec={"ports": [{"port": 80, "protocol": "TCP"}]})
    item = "/spec/ports[port=80,protocol=TCP]"
    assert added(declared, live, item, f"{item}/protocol") == set()


def test_port_with_another_protocol_is_an_addition() -> None:
    declared = an_object("v1/Service", spec={"ports": [{"port": 53}]})
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    item = "/spec/ports[port=53,protocol=UDP]"
    live = an_object("v1/Service", spec={"ports": ports})
    assert added(declared, live, item, f"{item}/protocol") == {item}


NOTHING = [
    pytest.param("kustomize-controller", id="the owner"),
    pytest.param("kube-controller-manager", id="Kubernetes itself"),
]


@pytest.mark.parametrize("manager", NOTHING)
def test_annotation_of_the_owner_or_kubernetes_is_no_addition(manager: str) -> None:
    live = an_object(annotations={"x": "y"})
    assert added(an_object(), live, "/metadata/annotations/x", manager=manager) == set()


def test_field_without_a_manager_is_no_addition() -> None:
    assert fields(a_deployment(), owned(a_deployment(replicas=3))) == {}


DEFAULTS = [
    ("/spec/template/spec/restartPolicy", a_deployment(), {"restartPolicy": "Always"}),
    ("/spec/template/spec/schedulerName", a_deployment(), {"schedulerName": "default-scheduler"}),
]


@pytest.mark.parametrize(("path", "declared", "more"), DEFAULTS)
def test_default_of_the_api_server_is_no_addition(
    path: str, declared: Object, more: Object
) -> None:
    pod = {**declared["spec"]["template"]["spec"], **more}
    live = an_object(spec={"template": {"spec": pod}})
    assert added(declared, live, path) == set()


def test_default_value_in_another_field_is_an_addition() -> None:
    """An init container that restarts is a sidecar."""
    declared = an_object(spec={"template": {"spec": {"initContainers": [{"name": "a"}]}}})
    live = an_object(
        spec={"template": {"spec": {"initContainers": [{"name": "a", "restartPolicy": "Always"}]}}}
    )
    path = "/spec/template/spec/initContainers[name=a]/restartPolicy"
    assert added(declared, live, path) == {path}


def test_replicas_set_by_a_person_and_undeclared_are_an_addition() -> None:
    live = owned(
        a_deployment(replicas=7), an_entry("kubectl", "/spec/replicas", subresource="scale")
    )
    assert fields(a_deployment(), live) == {"/spec/replicas": (None, 7)}


def test_injected_container_without_a_manager_is_an_addition() -> None:
    live = owned(
        a_deployment({"name": "app"}, {"name": "proxy"}), an_entry("kustomize-controller", APP)
    )
    [one] = found(a_container(), live)
    assert str(one.field) == "/spec/template/spec/containers[name=proxy]"
    assert one.managers == ()


def test_deployer_of_an_object_without_an_engine_counts_as_owner() -> None:
    live = an_object(labels={"team": "x", "by": "hand"})
    held = managed_by(
        live,
        an_entry("kubectl-client-side-apply", "/metadata/labels/team"),
        an_entry("kubectl-label", "/metadata/labels/by"),
    )
    assert set(fields(an_object(), held)) == {"/metadata/labels/by"}


def test_finding_has_manager_and_time_of_the_field() -> None:
    live = owned(
        a_container(image="web:2"),
        an_entry("kubectl-set", f"{APP}/image", time="2026-03-01T12:00:00Z"),
    )
    [one] = found(a_container(image="web:1"), live)
    assert one.managers == ("kubectl-set",)
    assert one.since is not None
    assert one.since.isoformat() == "2026-03-01T12:00:00+00:00"
    assert one.owner is not None
    assert (one.owner.app, one.revision, one.origin) == ("shop", "abc123", "web.yaml:1")


def test_deletion_timestamp_is_an_addition() -> None:
    live = an_object(metadata={"deletionTimestamp": "2026-03-01T12:00:00Z"})
    assert set(fields(an_object(), live)) == {"/metadata/deletionTimestamp"}


def test_empty_selector_is_an_addition() -> None:
    kind = "networking.k8s.io/v1/NetworkPolicy"
    narrow = {"podSelector": {"matchLabels": {"app": "web"}}}
    declared = an_object(kind, spec={"ingress": [{"from": [narrow]}]})
    live = an_object(kind, spec={"ingress": [{"from": [{**narrow, "namespaceSelector": {}}]}]})
    assert added(declared, live, "/spec/ingress") == {"/spec/ingress[0]/from[0]/namespaceSelector"}


def test_field_applied_by_the_owner_and_no_longer_declared_is_left_over() -> None:
    live = owned(
        a_deployment(minReadySeconds=5),
        an_entry("kustomize-controller", "/spec/minReadySeconds", operation="Apply"),
    )
    [one] = found(a_deployment(), live)
    assert str(one.field) == "/spec/minReadySeconds"
    assert one.managers == ("kustomize-controller",)


def test_field_defaulted_by_an_update_of_the_owner_is_not_left_over() -> None:
    """An update holds what the API server filled in, too."""
    live = owned(
        a_deployment(minReadySeconds=5), an_entry("kustomize-controller", "/spec/minReadySeconds")
    )
    assert fields(a_deployment(), live) == {}


PULL = f"{APP}/imagePullPolicy"


@pytest.mark.parametrize(
    ("image", "policy", "is_addition"),
    [
        ("r/web:1", "Always", True),
        ("r/web:1", "IfNotPresent", False),
        ("r/web", "Always", False),
        ("r/web", "IfNotPresent", True),
        ("r:5000/web:latest", "Always", False),
        ("r:5000/web", "Always", False),
        ("r/web@sha256:abc", "IfNotPresent", False),
        ("r/web@sha256:abc", "Always", True),
        ("r/web:1", "Never", True),
    ],
)
def test_default_pull_policy_depends_on_the_image_tag(
    image: str, policy: str, *, is_addition: bool
) -> None:
    declared, live = a_container(image=image), a_container(image=image, imagePullPolicy=policy)
    assert added(declared, live, PULL) == ({PULL} if is_addition else set())


def test_default_of_another_kind_is_an_addition() -> None:
    kind = "apps/v1/DaemonSet"
    live = an_object(kind, spec={"type": "ClusterIP"})
    assert added(an_object(kind), live, "/spec/type") == {"/spec/type"}


def applied(manager: str, operation: str, live: Object, *held: str) -> set[str]:
    """Return the fields found in *live*, without an owner, which *manager* has deployed."""
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(live)}
    noted = {**live, "metadata": {**live["metadata"], "annotations": note}}
    entry = an_entry(manager, *held, operation=operation)
    return set(fields(a_container(), managed_by(noted, entry)))


def test_field_applied_to_an_object_without_an_owner_is_found() -> None:
    live = a_container(env=[{"name": "DEBUG", "value": "1"}])
    live["spec"]["minReadySeconds"] = 7
    held = (f"{APP}/env[name=DEBUG]", f"{APP}/env[name=DEBUG]/value", "/spec/minReadySeconds")
    found = {f"{APP}/env[name=DEBUG]", "/spec/minReadySeconds"}
    assert applied("kubectl-client-side-apply", "Update", live, *held) == found
    assert applied("kubectl", "Apply", live, *held) == found


def test_field_defaulted_for_the_deployer_is_no_addition() -> None:
    live = a_container()
    later = {**live, "spec": {**live["spec"], "unknownToUs": "a default"}}
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(live)}
    noted = {**later, "metadata": {**live["metadata"], "annotations": note}}
    entry = an_entry("kubectl-client-side-apply", "/spec/unknownToUs")
    assert fields(live, managed_by(noted, entry)) == {}


def left_over(**labels: str) -> set[str]:
    """Return the fields found where Flux has applied *labels* which Git does not declare."""
    keys = [f"/metadata/labels/{key.replace('/', '~1')}" for key in labels]
    entry = an_entry("kustomize-controller", *keys, operation="Apply")
    return set(fields(an_object(), owned(an_object(labels=labels), entry)))


def test_label_no_longer_declared_is_left_over() -> None:
    assert left_over(team="x") == {"/metadata/labels/team"}


@pytest.mark.parametrize(
    "key", ["app.kubernetes.io/managed-by", "kustomize.toolkit.fluxcd.io/checksum", *FLUX]
)
def test_marks_of_an_engine_are_not_left_over(key: str) -> None:
    assert left_over(**{key: "x"}) == set()
