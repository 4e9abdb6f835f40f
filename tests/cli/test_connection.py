"""`connection_options`: kubectl's flags, on every command that reaches a cluster."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from glasswarden.cli.options import Connection, connection_options
from glasswarden.cluster.client import NoAccess

KUBECONFIG = """
current-context: one
contexts:
  - {name: one, context: {cluster: one, user: ann}}
  - {name: two, context: {cluster: two, user: ann}}
clusters:
  - {name: one, cluster: {server: "https://one:6443"}}
  - {name: two, cluster: {server: "https://two:6443"}}
users:
  - {name: ann, user: {token: ann-token, as: deputy, as-groups: [deputies]}}
  - {name: bob, user: {token: bob-token}}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    return file


def parsed(*arguments: str, **settings: bool | str) -> Connection:
    """Return the connection that a command with the options is given."""
    found: list[Connection] = []

    @click.command
    @connection_options(**settings)  # type: ignore[arg-type]  # by name, as a test gives them
    def command(connection: Connection) -> None:
        found.append(connection)

    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return found[0]


def test_every_flag_of_kubectl_reaches_the_connection(kubeconfig: Path) -> None:
    flags = ["--kubeconfig", str(kubeconfig), "--context", "two", "--cluster", "one"]
    flags += ["--user", "bob", "--as", "carol", "--as-group", "a", "--as-group", "b", "-n", "shop"]
    assert parsed(*flags) == Connection(
        kubeconfig, "two", "one", "bob", "carol", ("a", "b"), "shop"
    )


def test_all_namespaces_wins_over_one() -> None:
    assert parsed("-A", "-n", "shop") == Connection(all_namespaces=True)


def test_a_command_that_asks_a_ledger_keeps_its_own_cluster_option() -> None:
    with pytest.raises(AssertionError, match=r"No such option '?--cluster"):
        parsed("--cluster", "one", asks_ledger=True)


def test_a_command_without_namespaces_takes_none() -> None:
    with pytest.raises(AssertionError, match=r"No such option '?-n"):
        parsed("-n", "shop", namespace="")


def test_the_current_context_is_the_default(kubeconfig: Path) -> None:
    access = Connection(kubeconfig).access()
    assert (access.server, access.token) == ("https://one:6443", "ann-token")
    assert access.headers == (("Impersonate-User", "deputy"), ("Impersonate-Group", "deputies"))


def test_context_cluster_and_user_are_chosen(kubeconfig: Path) -> None:
    other = Connection(kubeconfig, context="two").access()
    assert other.server == "https://two:6443"
    mixed = Connection(kubeconfig, cluster="two", user="bob").access()
    assert (mixed.server, mixed.token) == ("https://two:6443", "bob-token")


def test_impersonation_replaces_that_of_the_kubeconfig(kubeconfig: Path) -> None:
    chosen = Connection(kubeconfig, impersonated_user="carol", impersonated_groups=("staff",))
    assert chosen.access().headers == (
        ("Impersonate-User", "carol"),
        ("Impersonate-Group", "staff"),
    )


def test_what_the_kubeconfig_does_not_have_is_named(kubeconfig: Path) -> None:
    with pytest.raises(NoAccess, match="there is no context 'three'"):
        Connection(kubeconfig, context="three").access()


def test_kubeconfig_variable_of_kubectl_is_used(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"/nowhere:{kubeconfig}")
    assert Connection(context="two").access().server == "https://two:6443"


def test_kubectl_is_called_with_the_same_flags(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECTL", "kubectl")
    connection = Connection(kubeconfig, "two", "one", "bob", "carol", ("a",), "shop")
    assert connection.kubectl().flags == (
        "--namespace=shop",
        "--context=two",
        "--cluster=one",
        "--user=bob",
        f"--kubeconfig={kubeconfig}",
        "--as=carol",
        "--as-group=a",
    )
