"""The control plane is real: identities, controllers, audit log, and an end without leftovers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import KubectlFailed, replace
from tests.cluster.people import PEOPLE, Person
from tests.cluster.retries import eventually

DEPLOYMENT = ("create", "deployment", "web", "--image=registry.example/web:1", "--replicas=1")


def test_api_server_has_the_pinned_version(cluster: ControlPlane) -> None:
    version = cluster.as_("admin").kubectl("version", "-o", "json").json()
    assert version["serverVersion"]["gitVersion"].startswith("v1.36.")


@pytest.mark.parametrize("person", PEOPLE.values(), ids=PEOPLE)
def test_each_person_is_identified_by_certificate(cluster: ControlPlane, person: Person) -> None:
    review = cluster.as_(person.name).kubectl("auth", "whoami", "-o", "json").json()
    user = review["status"]["userInfo"]
    assert user["username"] == person.name
    assert set(user["groups"]) == {*person.groups, "system:authenticated"}


def test_service_account_is_identified_by_its_token(cluster: ControlPlane, namespace: str) -> None:
    account = cluster.service_account(namespace, "robot", "view")
    review = account.kubectl("auth", "whoami", "-o", "json").json()
    assert review["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:robot"
    assert account.kubectl("get", "pods", "-n", namespace).returncode == 0
    refused = account.kubectl(*DEPLOYMENT, "-n", namespace, check=False)
    assert "forbidden" in refused.stderr


@pytest.mark.parametrize("person", [name for name in PEOPLE if name != "admin"])
def test_rbac_allows_every_person_to_write(
    cluster: ControlPlane, namespace: str, person: str
) -> None:
    kubectl = cluster.as_(person).kubectl
    kubectl(*DEPLOYMENT, "-n", namespace)
    kubectl("scale", "deployment/web", "--replicas=2", "-n", namespace)
    kubectl("annotate", "namespace", namespace, "note=hello")
    kubectl("delete", "deployment/web", "-n", namespace)


def test_kubectl_edit_is_driven_by_a_scripted_editor(cluster: ControlPlane, namespace: str) -> None:
    developer = cluster.as_("developer")
    developer.kubectl(*DEPLOYMENT, "-n", namespace)
    edit = replace("replicas: 1", "replicas: 3") + replace("web:1", "web:2")
    developer.kubectl("edit", "deployment/web", "-n", namespace, editor=edit)
    spec = cluster.get("deployment/web", "-n", namespace)["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["image"] == "registry.example/web:2"


def test_a_scripted_edit_that_finds_nothing_fails(cluster: ControlPlane, namespace: str) -> None:
    developer = cluster.as_("developer")
    developer.kubectl(*DEPLOYMENT, "-n", namespace)
    with pytest.raises(KubectlFailed, match="found no 'replicas: 9'"):
        developer.kubectl(
            "edit", "deployment/web", "-n", namespace, editor=replace("replicas: 9", "replicas: 3")
        )


def test_audit_log_names_user_and_written_object(cluster: ControlPlane, namespace: str) -> None:
    cluster.as_("responder").kubectl(*DEPLOYMENT, "-n", namespace)
    [event] = [
        event
        for event in cluster.audit_events()
        if event["user"]["username"] == "responder"
        and event.get("objectRef", {}).get("namespace") == namespace
    ]
    assert event["verb"] == "create"
    assert event["level"] == "RequestResponse"
    assert event["requestObject"]["metadata"]["name"] == "web"
    assert "oncall" in event["user"]["groups"]


def test_a_deployment_gets_its_replica_set_and_pods(cluster: ControlPlane, namespace: str) -> None:
    cluster.as_("developer").kubectl(*DEPLOYMENT, "-n", namespace)
    eventually(lambda: cluster.get("pods", "-n", namespace)["items"], "a pod of the Deployment")
    [replica_set] = cluster.get("replicasets", "-n", namespace)["items"]
    assert replica_set["metadata"]["ownerReferences"][0]["name"] == "web"


def test_deleted_namespace_is_emptied_and_removed(cluster: ControlPlane) -> None:
    admin = cluster.as_("admin")
    admin.kubectl("create", "namespace", "short-lived")
    admin.kubectl("create", "configmap", "it", "-n", "short-lived")
    admin.kubectl("delete", "namespace", "short-lived", "--wait", "--timeout=30s")


@pytest.mark.cluster
def test_two_control_planes_run_side_by_side(cluster: ControlPlane) -> None:
    with ControlPlane() as other:
        other.as_("admin").kubectl("create", "namespace", "only-there")
        missing = cluster.as_("admin").kubectl("get", "namespace", "only-there", check=False)
        assert "NotFound" in missing.stderr
        assert other.folder.exists()
    assert not other.folder.exists()


@pytest.mark.cluster
def test_every_process_ends_with_the_control_plane() -> None:
    with ControlPlane() as running:
        pids = running.pids
        assert len(pids) == 3
        assert all(map(exists, pids))
    assert not any(map(exists, pids))


CHILD = """
import sys, time
from pathlib import Path
from tests.cluster.controlplane import ControlPlane
with ControlPlane(Path(sys.argv[1])) as running:
    print(*running.pids, flush=True)
    time.sleep(600)
"""


@pytest.mark.cluster
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_do_not_outlive_a_killed_test_run(tmp_path: Path, sign: signal.Signals) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "cluster")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        pids = [int(pid) for pid in child.stdout.readline().split()]
        assert len(pids) == 3
        child.send_signal(sign)
    eventually(lambda: not any(map(exists, pids)), "the end of every process")


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
