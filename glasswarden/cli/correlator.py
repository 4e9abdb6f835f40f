"""`glasswarden correlator`: find drift, pass after pass, and remember it."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import click

from correlator.notify.config import NotificationsInvalid, parse_notifications
from correlator.service.model import (
    Declares,
    PolicyUnusable,
    Settings,
    SourcesUnreadable,
    read_sources,
)
from glasswarden.cli.evidence import keys_option, ledger_option
from glasswarden.cli.options import DURATION, Connection, connection_options
from glasswarden.policy.policy import DEFAULT, Policy
from glasswarden.policy_file import PolicyUnreadable, parse_policy, read_text
from glasswarden.reloaded import Reloaded

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("correlator")
@ledger_option
@click.option(
    "--sources",
    "sources_file",
    envvar="GLASSWARDEN_SOURCES",
    type=_FILE,
    help="File that names the repositories to compare with, and whom each one is for.",
)
@click.option(
    "--git",
    "addresses",
    multiple=True,
    metavar="DIR|URL[@REV]",
    help="Compare with all of this repository, as if --sources named it. Repeatable.",
)
@click.option(
    "--policy",
    envvar="GLASSWARDEN_POLICY",
    type=_FILE,
    help="File with the rules; read again when it changes. Built-in rules without it.",
)
@click.option(
    "--notifications",
    envvar="GLASSWARDEN_NOTIFICATIONS",
    type=_FILE,
    help="File that says who is notified of what; read again when it changes.",
)
@click.option(
    "--logging",
    envvar="GLASSWARDEN_LOGGING",
    type=_FILE,
    help="File with the log's level; read again when it changes, and need not be there.",
)
@keys_option
@connection_options(
    namespace="",
    kubeconfig="How to reach the API server; inside the cluster, the service account serves.",
)
@click.option(
    "--argocd",
    envvar="GLASSWARDEN_ARGOCD",
    is_flag=True,
    help="Also what Argo CD's Applications in the cluster call out of sync.",
)
@click.option(
    "--audit-folder",
    envvar="GLASSWARDEN_AUDIT_FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the API server's audit log, or for the events that it delivers.",
)
@click.option(
    "--audit-tokens",
    envvar="GLASSWARDEN_AUDIT_TOKENS",
    type=_FILE,
    help="File with tokens, one a line, by which the API server may POST its events to /audit.",
)
@click.option(
    "--audit-listen",
    envvar="GLASSWARDEN_AUDIT_LISTEN",
    default="127.0.0.1:8443",
    show_default=True,
    metavar="HOST:PORT",
    help="Where /audit is served, with --audit-tokens.",
)
@click.option(
    "--audit-certs",
    envvar="GLASSWARDEN_AUDIT_CERTS",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with tls.crt and tls.key: the API server sends no token without TLS.",
)
@click.option(
    "--interval",
    envvar="GLASSWARDEN_CORRELATOR_INTERVAL",
    type=DURATION,
    default="60s",
    show_default=True,
    help="Make a pass after so long even if no change is known.",
)
@click.option(
    "--retention",
    envvar="GLASSWARDEN_CORRELATOR_RETENTION",
    type=DURATION,
    default="400d",
    show_default=True,
    help="Resolved findings are deleted after so long.",
)
@click.option(
    "--listen",
    envvar="GLASSWARDEN_CORRELATOR_LISTEN",
    default="127.0.0.1:8082",
    show_default=True,
    metavar="HOST:PORT",
    help="Where /metrics, /healthz and /readyz are served.",
)
@click.option(
    "--lease",
    envvar="GLASSWARDEN_CORRELATOR_LEASE",
    default="",
    metavar="NAMESPACE/NAME",
    help="The Lease by which one of several replicas leads. Without it, this is the only one.",
)
@click.option(
    "--lease-duration",
    envvar="GLASSWARDEN_CORRELATOR_LEASE_DURATION",
    type=DURATION,
    default="30s",
    show_default=True,
    help="How long to wait for a leader that does not renew its lease.",
)
@click.option(
    "--identity",
    envvar="GLASSWARDEN_CORRELATOR_IDENTITY",
    default=lambda: f"{socket.gethostname()}-{os.getpid()}",
    show_default="the host's name and the process's number",
    help="Among replicas, who we are.",
)
def command(
    *,
    address: str,
    sources_file: Path | None,
    addresses: tuple[str, ...],
    policy: Path | None,
    notifications: Path | None,
    logging: Path | None,
    keys: Path | None,
    connection: Connection,
    argocd: bool,
    audit_folder: Path | None,
    audit_tokens: Path | None,
    audit_listen: str,
    audit_certs: Path | None,
    interval: timedelta,
    retention: timedelta,
    listen: str,
    lease: str,
    lease_duration: timedelta,
    identity: str,
) -> None:
    """Compare the cluster with Git until stopped, and store what is found.

    A pass is made when something changes and after each interval. Findings go into the ledger's
    database, with when they were first and last seen.
    """
    # Loaded when it is to serve: most of what it needs no other command does.
    from correlator.service import metrics  # noqa: PLC0415
    from correlator.service.assembly import new_program  # noqa: PLC0415
    from glasswarden.logs import (  # noqa: PLC0415
        LogFile,
        Sampler,
        configure_logs,
    )
    from glasswarden.probes import AddressUnusable, new_pages, serving  # noqa: PLC0415

    if lease and "/" not in lease:
        raise click.BadParameter(f"{lease!r} is not NAMESPACE/NAME", param_hint="--lease")
    settings = Settings(
        ledger=address,
        sources=(*_read_sources_file(sources_file), *_sources_from(addresses)),
        policy=policy,
        notifications=_check_notifications(notifications),
        keys=keys,
        kubeconfig=connection.kubeconfig,
        choice=connection.choice,
        argocd=argocd,
        audit=audit_folder,
        interval=interval,
        retention=retention,
        lease=lease,
        lease_duration=lease_duration,
        identity=identity,
    )
    configure_logs()
    LogFile(logging, Sampler()).follow_aside()
    program = new_program(settings, _reader_of(policy))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: program.stop())
    try:
        with (
            _intake(audit_folder, audit_tokens, audit_listen, audit_certs),
            serving(new_pages(program, metrics.REGISTRY), listen),
        ):
            program.run()
    except AddressUnusable as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _intake(
    folder: Path | None, tokens: Path | None, listen: str, certificate: Path | None
) -> Iterator[None]:
    """Serve the page that the API server delivers its events to, if it is to."""
    if tokens is None:
        yield
        return
    if folder is None or certificate is None:
        raise click.UsageError("--audit-tokens needs --audit-folder and --audit-certs")
    from flask import Flask  # noqa: PLC0415

    from correlator.audit.intake import (  # noqa: PLC0415
        EventStore,
        new_audit_intake,
    )
    from correlator.service.metrics import AUDIT_BATCHES  # noqa: PLC0415
    from glasswarden.probes import serving  # noqa: PLC0415

    with closing(EventStore(folder)) as store:
        page = Flask("audit", static_folder=None)
        count = lambda outcome, _: AUDIT_BATCHES.labels(outcome).inc()  # noqa: E731
        page.register_blueprint(new_audit_intake(store, tokens, count))
        with serving(page, listen, certificate):
            yield


def _read_sources_file(file: Path | None) -> tuple[Declares, ...]:
    try:
        return () if file is None else read_sources(file)
    except SourcesUnreadable as error:
        raise click.ClickException(str(error)) from error


def _check_notifications(file: Path | None) -> Path | None:
    """Return *file*, which can be read now: a mistake in it should not wait for the first pass."""
    try:
        if file is not None:
            parse_notifications(file.read_text())
    except NotificationsInvalid as error:
        place = f"{file}:{error.mistake.line}:{error.mistake.column}"
        raise click.ClickException(f"{place}: {error.mistake.message}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file}: {error}") from error
    return file


def _sources_from(addresses: tuple[str, ...]) -> list[Declares]:
    return [Declares(name=f"git-{n}", git=each) for n, each in enumerate(addresses, start=1)]


def _reader_of(file: Path | None) -> Callable[[], Policy]:
    """Return what reads the policy; now already, so that a mistake is reported at the start."""
    if file is None:
        return lambda: DEFAULT
    policy = Reloaded(
        DEFAULT,
        lambda: read_text(file),
        lambda text: parse_policy(file, text),
        quoted=(PolicyUnreadable,),
    )

    def read() -> Policy:
        policy.refresh()
        if policy.error:
            raise PolicyUnusable(policy.error)
        return policy.value

    try:
        policy.load()
    except PolicyUnreadable as error:
        raise click.ClickException(f"{error}\nTry: glasswarden policy check {file}") from error
    return read
