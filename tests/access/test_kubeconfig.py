"""Kubeconfigs: which credentials they give, and how several of them are one."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from glasswarden.cluster.client import Access, NoAccess
from glasswarden.cluster.kubeconfig import ExecCredentials, access_from

SERVER = "https://api.example:6443"


def a_config(
    user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def written(file: Path, config: object) -> Path:
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(yaml.safe_dump(config))
    return file


def access(tmp_path: Path, user: dict[str, Any], **cluster: Any) -> Access:  # noqa: ANN401
    return access_from(written(tmp_path / "config", a_config(user, cluster)))


def test_token_is_read_inline_or_from_a_relative_token_file(tmp_path: Path) -> None:
    assert access(tmp_path, {"token": "t"}).token == "t"
    assert access(tmp_path, {"tokenFile": "token"}).token == tmp_path / "token"


def test_exec_plugin_is_used_only_without_a_token(tmp_path: Path) -> None:
    section = {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}
    token = access(tmp_path, {"exec": section}, extensions=[EXTENSION]).token
    assert isinstance(token, ExecCredentials)
    assert token.cluster == {"server": SERVER, "config": {"audience": "a"}}
    assert access(tmp_path, {"exec": section, "token": "t"}).token == "t"


EXTENSION = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}


def test_impersonated_user_and_groups_become_request_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "lead", "as-groups": ["leads", "people"]}
    assert access(tmp_path, user).headers == (
        ("Impersonate-User", "lead"),
        ("Impersonate-Group", "leads"),
        ("Impersonate-Group", "people"),
    )


@pytest.mark.parametrize(
    ("user", "why"),
    [
        pytest.param({"auth-provider": {"name": "gcp"}}, "no longer takes an auth-provider",
                     id="auth-provider"),
        pytest.param({"username": "u", "password": "p"}, "no longer takes a password", id="basic"),
        pytest.param({"exec": {"command": "aws"}}, "apiVersion", id="exec without a version"),
    ],
)  # fmt: skip
def test_unsupported_credentials_are_rejected_with_the_reason(
    tmp_path: Path, user: dict[str, Any], why: str
) -> None:
    with pytest.raises(NoAccess, match=why):
        access(tmp_path, user)


@pytest.mark.parametrize(
    "config", [None, [], "text", {"current-context": "none"}, {**a_config(), "users": []}]
)
def test_invalid_kubeconfig_is_rejected_with_the_reason(tmp_path: Path, config: object) -> None:
    with pytest.raises(NoAccess, match="is no kubeconfig that can be used"):
        access_from(written(tmp_path / "config", config))


class TestMergeOfSeveralFiles:
    def test_first_file_that_sets_a_value_wins(self, tmp_path: Path) -> None:
        whole = a_config({"token": "second"})
        first = written(tmp_path / "first" / "config", {"users": a_config(FILE)["users"]})
        second = written(tmp_path / "second" / "config", whole)
        found = access_from(Path(os.pathsep.join(map(str, (first, tmp_path / "none", second)))))
        # A file that is named is beside the kubeconfig that names it.
        assert (found.server, found.token) == (SERVER, tmp_path / "first" / "token")

    def test_error_is_raised_when_all_files_are_missing(self, tmp_path: Path) -> None:
        with pytest.raises(NoAccess, match="No such file"):
            access_from(Path(f"{tmp_path}/a{os.pathsep}{tmp_path}/b"))


FILE = {"tokenFile": "token"}
