"""Credentials that a program gives, as kubectl asks for them."""

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from glasswarden.cluster.client import NoAccess
from glasswarden.cluster.kubeconfig import ExecCredentials, Plugin, ask, parse_plugin

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

Script = Callable[..., Plugin]


def answer(version: str = V1, **status: Any) -> str:  # noqa: ANN401 - any JSON value
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Return a function that makes a plugin of a shell script."""

    def make(text: str, version: str = V1, **section: Any) -> Plugin:  # noqa: ANN401
        program = tmp_path / "credentials"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        named = {"apiVersion": version, "command": str(program), **section}
        return parse_plugin(named, tmp_path)

    return make


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_token_is_read_from_the_output_of_the_credential_plugin(
    script: Script, version: str
) -> None:
    plugin = script(f"echo '{answer(version, token='t0')}'", version)
    assert ask(plugin, {}).token == "t0"


def test_credential_plugin_gets_its_arguments_and_environment(script: Script) -> None:
    said = answer(token="%s").replace("%s", "'$1-$REGION'")
    plugin = script(f"echo '{said}'", args=["web"], env=[{"name": "REGION", "value": "north"}])
    assert ask(plugin, {}).token == "web-north"


@pytest.mark.parametrize("wanted", [True, False])
def test_exec_info_has_the_cluster_only_with_provide_cluster_info(
    script: Script, *, wanted: bool
) -> None:
    saved = 'printf \'%s\' "$KUBERNETES_EXEC_INFO" > "$0.info"'
    plugin = script(f"{saved}\necho '{answer(token='t')}'", provideClusterInfo=wanted)
    ask(plugin, {"server": "https://api.example"})
    info = json.loads(Path(f"{plugin.command}.info").read_text())
    assert (info["apiVersion"], info["kind"]) == (V1, "ExecCredential")
    expected = {"interactive": False} | (
        {"cluster": {"server": "https://api.example"}} if wanted else {}
    )
    assert info["spec"] == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("exit 3", "ended with 3", id="non-zero exit"),
        pytest.param("echo hello", "printed no ExecCredential", id="other output"),
        pytest.param(f"echo '{answer()}'", "neither a token nor a certificate", id="empty token"),
        pytest.param(f"echo '{answer(V1BETA1, token='t')}'", "was asked as", id="other version"),
        pytest.param(f"echo '{answer(clientCertificateData='c')}'", "only half", id="half a pair"),
    ],
)
def test_failure_of_the_plugin_is_reported_without_its_output(
    script: Script, text: str, why: str
) -> None:
    with pytest.raises(NoAccess, match=why) as raised:
        ask(script(text), {})
    assert "hello" not in str(raised.value)


def test_missing_plugin_is_reported_with_its_install_hint(tmp_path: Path) -> None:
    section = {"apiVersion": V1, "command": "./none", "installHint": "install it from example.com"}
    with pytest.raises(NoAccess, match=r"(?s)cannot be run.*install it from example\.com"):
        ask(parse_plugin(section, tmp_path), {})


def test_interactive_plugin_fails_without_a_terminal(script: Script) -> None:
    plugin = script("exit 1", interactiveMode="Always")
    with pytest.raises(NoAccess, match="there is no terminal"):
        ask(plugin, {})


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "a"}, "v1alpha1"),
        ({"apiVersion": V1}, "command"),
        ("aws", "exec"),
    ],
)
def test_invalid_exec_section_is_rejected(section: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_plugin(section, Path("/"))


def test_bare_command_is_searched_on_the_path(tmp_path: Path) -> None:
    section = {"apiVersion": V1, "command": "aws"}
    assert parse_plugin(section, tmp_path).command == "aws"
    assert parse_plugin(section | {"command": "bin/aws"}, tmp_path).command == str(
        tmp_path / "bin/aws"
    )


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def counting(script: Script, **status: Any) -> Plugin:  # noqa: ANN401 - any JSON value
    """Return a plugin whose token says how often it was asked."""
    count = 'n=$(cat "$0.n" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$0.n"'
    said = answer(token="%s", **status).replace("%s", "'$n'")
    return script(f"{count}\necho '{said}'")


def test_token_is_reused_until_it_expires(script: Script) -> None:
    clock = Clock()
    plugin = counting(script, expirationTimestamp=(NOW + timedelta(minutes=5)).isoformat())
    credentials = ExecCredentials(plugin, {}, lambda *_: None, clock)
    assert (credentials.token(), credentials.token()) == ("1", "1")
    clock.now += timedelta(minutes=5)
    assert credentials.token() == "2"


def test_token_without_expiry_is_reused_until_it_is_forgotten(script: Script) -> None:
    credentials = ExecCredentials(counting(script), {}, lambda *_: None)
    assert (credentials.token(), credentials.token()) == ("1", "1")
    credentials.forget()
    assert credentials.token() == "2"


def test_client_certificate_of_the_plugin_is_used(script: Script) -> None:
    taken: list[tuple[bytes, bytes]] = []
    plugin = script(f"echo '{answer(clientCertificateData='c', clientKeyData='k')}'")
    credentials = ExecCredentials(plugin, {}, lambda *pair: taken.append(pair))
    assert (credentials.token(), taken) == ("", [(b"c", b"k")])
