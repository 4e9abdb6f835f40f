"""`glasswarden up`: the product on one machine, for a local cluster."""

import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen

import click

from glasswarden.cli.options import Connection, connection_options, read_policy
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.policy.policy import DEFAULT
from glasswarden.setup.doctor import Finding, Health, reachability
from glasswarden.setup.installation import VALIDATING, Installation
from glasswarden.setup.local import (
    Local,
    NotStarted,
    StillAsked,
    certificates_for,
    correlating,
    registered_locally,
    serving,
)
from webhook.registration.configurations import PolicyTooLarge

TRIES, PAUSE_SECONDS = 20, 0.25
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, and Ctrl-C by other names: somebody ends us politely, or closes the terminal."""
ADVICE = "Which address of this machine does the API server reach? Name it with --host."


@click.command("up")
@connection_options(namespace="")
@click.option(
    "--dir",
    "folder",
    default="glasswarden.d",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where certificates, records and the log are kept.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="This machine, as the API server reaches it; one in a container needs another address.",
)
@click.option("--port", default=8443, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the rules; the built-in ones without it.",
)
@click.option(
    "--git",
    "repositories",
    multiple=True,
    metavar="DIR|URL[@REV]",
    help="Watch for drift from this repository. Repeatable.",
)
def command(
    connection: Connection,
    folder: Path,
    host: str,
    port: int,
    policy_file: Path | None,
    repositories: tuple[str, ...],
) -> None:
    """Guard a local cluster from this machine until Ctrl-C, which takes it all off again.

    The correlator runs beside the webhook, and keeps what it finds in the same ledger.

    For kind, minikube and the like, to try it out: records stay in the folder.
    """
    server, local = connection.open_api_server(), Local(folder, host, port)
    policy = read_policy(policy_file) if policy_file else DEFAULT
    folder.mkdir(parents=True, exist_ok=True)
    certificates = certificates_for(local, datetime.now(UTC))
    _end_once()
    try:
        _reject_second_webhook(server)
        # The programs search no kubeconfig of their own.
        flags = replace(connection, kubeconfig=connection.file).flags()
        with (
            serving(local, certificates, policy_file, flags) as webhook,
            correlating(local, policy_file, flags, repositories),
            registered_locally(local, certificates, server, policy),
        ):
            _print_summary(server, local)
            _wait_for(webhook, local)
    except KeyboardInterrupt:
        click.echo("\nThe webhook is no longer registered.")
    except (ApiServerError, NotStarted, PolicyTooLarge, StillAsked) as error:
        raise click.ClickException(str(error)) from error


def _end_once() -> None:
    """Let the first signal end us, and no later one disturb that.

    Cut short, it would leave a registration that denies writes, and no webhook that answers.
    """

    def end(*_: object) -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in ENDING:
        # Whoever started us with `nohup` means it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _wait_for(webhook: Popen[bytes], local: Local) -> None:
    """Wait for Ctrl-C; a webhook that ends by itself is a failure."""
    webhook.wait()
    raise NotStarted(f"the webhook ended; see {local.log}")


def _reject_second_webhook(server: ApiServer) -> None:
    if server.get_or_none(VALIDATING.path) is not None:
        raise NotStarted(
            "this cluster is guarded already; glasswarden uninstall --registration-only ends that"
        )


def _wait_until_reached(installation: Installation) -> Finding:
    """Return how the webhook was reached; API servers take a moment to read a configuration."""
    for _ in range(TRIES - 1):
        found = reachability(installation)
        if found.health is not Health.WARN:
            return found
        time.sleep(PAUSE_SECONDS)
    return reachability(installation)


def _print_summary(server: ApiServer, local: Local) -> None:
    found = _wait_until_reached(Installation(server))
    if found.health is Health.FAIL:
        raise NotStarted(f"{found.message}\n{ADVICE}")
    click.echo(f"{server.address} asks {local.url}: {found.message}.")
    click.echo(f"Records: {local.ledger}   log: {local.log}   Ctrl-C ends it.")
