"""Kubeconfigs: which credentials they give, and how several of them are one."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from glasswarden.cluster.client import Access, NoAccess
from glasswarden.cluster.kubeconfig import ExecCredentials, ProviderToken, access_from

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


def provider(token: str) -> dict[str, Any]:
    return {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}


def test_the_token_of_an_oidc_provider_is_had_from_the_official_client(tmp_path: Path) -> None:
    parts = (b'{"alg": "none"}', b'{"exp": 99999999999}', b"signature")
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    found = access(tmp_path, provider(token)).token
    assert isinstance(found, ProviderToken)
    assert found.token() == token


def test_an_oidc_provider_without_a_usable_token_is_no_access(tmp_path: Path) -> None:
    found = access(tmp_path, provider("secret")).token
    assert isinstance(found, ProviderToken)
    with pytest.raises(NoAccess, match="auth-provider gave no credentials") as caught:
        found.token()
    assert "secret" not in str(caught.value)


def test_a_proxy_is_that_of_the_kubeconfig_or_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:3128")
    own = {"proxy-url": "http://own:3128"}
    assert access(tmp_path, {}, **own).proxy == "http://own:3128"
    assert access(tmp_path, {}).proxy == "http://environment:3128"
    assert not access(tmp_path, {}, server="https://127.0.0.1:6443").proxy
    assert not access(tmp_path, {}, server="https://localhost:6443").proxy
    monkeypatch.setenv("NO_PROXY", "api.example")
    assert not access(tmp_path, {}).proxy
    with pytest.raises(NoAccess, match="is not of HTTP"):
        access(tmp_path, {}, **{"proxy-url": "socks5://own:1080"})


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
