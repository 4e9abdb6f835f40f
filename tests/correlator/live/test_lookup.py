"""Single objects, as Git declares them and as they are live."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from correlator.declared.git import parse_address
from correlator.declared.manifests import Declared, Manifests
from correlator.declared.read import FollowedGit, lookup_in
from correlator.live.lookup import LiveObjects
from correlator.still_live import NotKnown
from glasswarden.cluster.client import ApiServerError, Forbidden, NotFound
from glasswarden.kube.objects import Object, Ref

WEB = Ref("apps", "v1", "Deployment", "shop", "web", "0b6f9e0c")


def a_manifest(namespace: str = "", version: str = "v1") -> Object:
    metadata = {"name": "web", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"apps/{version}", "kind": "Deployment", "metadata": metadata}


@pytest.mark.parametrize(
    ("manifest", "home", "found"),
    [
        pytest.param(a_manifest("shop"), "", True, id="declared"),
        pytest.param(a_manifest("shop", "v1beta1"), "", True, id="in another version"),
        pytest.param(a_manifest("other"), "", False, id="in another namespace"),
        pytest.param(a_manifest(), "", True, id="without a namespace"),
        pytest.param(a_manifest(), "shop", True, id="applied to this namespace"),
        pytest.param(a_manifest(), "other", False, id="applied to another"),
    ],
)
def test_declared_object_is_found_by_its_reference(
    manifest: Object, home: str, *, found: bool
) -> None:
    lookup = lookup_in(Manifests((Declared(manifest, "web.yaml"),)), home)
    assert lookup(WEB) == (manifest if found else None)


def test_folder_is_read_again_after_a_change(tmp_path: Path) -> None:
    followed = FollowedGit(parse_address(str(tmp_path)), home="shop")
    assert followed(WEB) is None
    (tmp_path / "web.json").write_text(json.dumps(a_manifest()))
    assert followed(WEB) is None
    followed.expire()
    assert followed(WEB) == a_manifest()


def test_cluster_scoped_object_is_found_despite_a_home_namespace() -> None:
    role: Object = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    role["metadata"] = {"name": "reader"}
    lookup = lookup_in(Manifests((Declared(role, "role.yaml"),)), "shop")
    assert lookup(Ref("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "reader")) == role


def test_manifests_rendered_for_a_scan_are_reused(tmp_path: Path) -> None:
    followed, file = FollowedGit(parse_address(str(tmp_path)), home="shop"), tmp_path / "web.json"
    file.write_text(json.dumps(a_manifest()))
    assert [each.manifest for each in followed.read().objects] == [a_manifest()]
    status = file.stat()
    file.write_text(json.dumps(a_manifest()).replace("web", "api"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if it had not changed
    followed.expire()
    assert followed(WEB) == a_manifest()


def test_declaration_in_an_unreadable_repository_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(NotKnown):
        FollowedGit(parse_address(str(tmp_path / "nowhere")))(WEB)


class Server:
    """An API server that knows Deployments, and answers as scripted."""

    def __init__(self, answer: Object | ApiServerError) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def fetch(self, _path: str, _accept: str = "") -> bytes:
        kind = {"responseKind": {"kind": "Deployment"}, "resource": "deployments"}
        version: dict[str, Any] = {"version": "v1", "resources": [kind | {"scope": "Namespaced"}]}
        group = {"metadata": {"name": "apps"}, "versions": [version]}
        return json.dumps({"items": [group]}).encode()

    def get(self, path: str) -> Object:
        self.asked.append(path)
        if isinstance(self.answer, ApiServerError):
            raise self.answer
        return self.answer


def looking(answer: Object | ApiServerError) -> tuple[LiveObjects, Server]:
    server = Server(answer)
    return LiveObjects(server), server  # type: ignore[arg-type]  # as far as it is used here


def test_live_object_is_read_once() -> None:
    live, server = looking(a_manifest("shop"))
    assert live(WEB) == live(WEB) == a_manifest("shop")
    assert server.asked == ["/apis/apps/v1/namespaces/shop/deployments/web"]


def test_deleted_object_is_known_to_be_absent() -> None:
    assert looking(NotFound("gone"))[0](WEB) is None


@pytest.mark.parametrize(
    ("answer", "ref"),
    [
        pytest.param(Forbidden("no"), WEB, id="no right"),
        pytest.param({}, Ref("example.com", "v1", "Widget", "shop", "web"), id="no such kind"),
    ],
)
def test_unreadable_object_is_unknown(answer: Object | ApiServerError, ref: Ref) -> None:
    with pytest.raises(NotKnown):
        looking(answer)[0](ref)
