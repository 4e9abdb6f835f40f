"""Kubeconfigs that run a program for their credentials, on the real API server."""

import base64
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.cluster.client import ApiServer, Forbidden
from glasswarden.cluster.kubeconfig import access_from
from tests.cluster.controlplane import ControlPlane

VERSION = "client.authentication.k8s.io/v1"
WHO = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"


def credential(**status: str) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})


def kubeconfig_running(cluster: ControlPlane, folder: Path, script: str) -> Path:
    """Return a kubeconfig whose user is whoever *script* says."""
    folder.mkdir(exist_ok=True)
    program = folder / "credentials"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    config = json.loads(cluster.kubeconfig("admin").read_text())
    section = {"apiVersion": VERSION, "command": "./credentials", "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": section}
    (folder / "config").write_text(json.dumps(config))
    return folder / "config"


def token_of(cluster: ControlPlane) -> str:
    cluster.service_account("glasswarden", "by-program", "cluster-admin")
    made = cluster.as_("admin").kubectl("create", "token", "by-program", "-n", "glasswarden")
    return made.stdout.strip()


def certificate_of(cluster: ControlPlane, person: str) -> dict[str, str]:
    user: dict[str, Any] = json.loads(cluster.kubeconfig(person).read_text())["users"][0]["user"]
    return {
        "clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
        "clientKeyData": base64.b64decode(user["client-key-data"]).decode(),
    }


@pytest.mark.parametrize("way", ["token", "certificate"])
def test_commands_work_with_credentials_of_the_plugin(
    cluster: ControlPlane, tmp_path: Path, way: str
) -> None:
    given = {"token": token_of(cluster)} if way == "token" else certificate_of(cluster, "admin")
    (tmp_path / "answer").write_text(credential(**given))
    config = kubeconfig_running(cluster, tmp_path, 'cat "$(dirname "$0")/answer"')
    git = tmp_path / "git"
    git.mkdir()
    (git / "map.json").write_text(
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nowhere"}}'
    )
    drift = ["drift", "--git", str(git), "--format", "json", "--kubeconfig", str(config)]
    for command in (drift, ["init", "--kubeconfig", str(config)]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output


def test_rejected_token_is_requested_anew(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "first").write_text(credential(token="revoked"))
    (tmp_path / "then").write_text(credential(token=token_of(cluster)))
    script = 'cd "$(dirname "$0")"; cat first 2>/dev/null && rm first || cat then'
    server = ApiServer(access_from(kubeconfig_running(cluster, tmp_path, script)))
    assert server.get(WHO)["metadata"]["name"] == "view"


def test_token_that_is_always_rejected_is_requested_only_twice(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "answer").write_text(credential(token="revoked"))
    script = 'cd "$(dirname "$0")"; echo >> asked; cat answer'
    server = ApiServer(access_from(kubeconfig_running(cluster, tmp_path, script)))
    with pytest.raises(Forbidden):
        server.get(WHO)
    assert (tmp_path / "asked").read_text() == "\n\n"


def test_several_kubeconfigs_are_merged(cluster: ControlPlane, tmp_path: Path) -> None:
    config = json.loads(cluster.kubeconfig("admin").read_text())
    users, rest = tmp_path / "users", tmp_path / "rest"
    users.write_text(json.dumps({"users": config.pop("users")}))
    rest.write_text(json.dumps(config))
    both = Path(os.pathsep.join(map(str, (users, tmp_path / "none", rest))))
    assert ApiServer(access_from(both)).get(WHO)["metadata"]["name"] == "view"


def test_impersonated_user_has_only_their_own_rights(cluster: ControlPlane, tmp_path: Path) -> None:
    config = json.loads(cluster.kubeconfig("admin").read_text())
    config["users"][0]["user"] |= {"as": "nobody-at-all"}
    (tmp_path / "config").write_text(json.dumps(config))
    with pytest.raises(Forbidden):
        ApiServer(access_from(tmp_path / "config")).get(WHO)


def test_a_command_takes_the_flags_of_kubectl(cluster: ControlPlane, tmp_path: Path) -> None:
    """`init` only reads; whoever is impersonated may not even do that."""
    config = json.loads(cluster.kubeconfig("admin").read_text())
    cluster_name, user_name = config["clusters"][0]["name"], config["users"][0]["name"]
    del config["current-context"]
    (tmp_path / "config").write_text(json.dumps(config))
    init = ["init", "--kubeconfig", str(tmp_path / "config")]
    chosen = [*init, "--cluster", cluster_name, "--user", user_name]
    assert CliRunner().invoke(main, [*init, "--context", "none"]).exit_code == 1
    assert CliRunner().invoke(main, chosen).exit_code == 0
    denied = CliRunner().invoke(main, [*chosen, "--as", "nobody-at-all"])
    assert "nobody-at-all" in denied.output
    masters = [*chosen, "--as", "nobody-at-all", "--as-group", "system:masters"]
    assert "nobody-at-all" not in CliRunner().invoke(main, masters).output
