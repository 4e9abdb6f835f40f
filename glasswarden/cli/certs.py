"""`glasswarden certs`: the authority and the serving certificate."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from certs import configurations
from certs.authority import names_of
from certs.configurations import Conditions, Restore, RestoreFailed
from certs.controller import CertificateController
from certs.files import Folder, Secret, StateUnreadable
from certs.rotation import Phase, State, Timing, begin_rotation, first_state, is_due, next_change_of
from glasswarden.cli.options import DURATION, Connection, connection_options, render_span
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.cluster.lease import Lease
from glasswarden.policy.policy import DEFAULT
from glasswarden.policy_file import PolicyUnreadable, load_policy
from webhook.registration.configurations import Endpoint, PolicyTooLarge, Service
from webhook.registration.configurations import configurations as both

F = TypeVar("F", bound=Callable[..., Any])

LEASE = "glasswarden-certs"

NEXT = {
    Phase.STEADY: "nothing to do",
    Phase.PUBLISHING: "the new authority is being published; its certificate is served next",
    Phase.OVERLAPPING: "the new certificate is served; the old authority leaves next",
}


@dataclass(frozen=True, slots=True)
class CertificateLocation:
    """Where certificates are kept, as given on the command line."""

    folder: Path | None
    secret: str | None
    connection: Connection

    def open(self) -> Folder | Secret:
        """Return the place itself."""
        if (self.folder is None) == (self.secret is None):
            raise click.UsageError("give the place of the certificates: --dir or --secret")
        if self.folder is not None:
            return Folder(self.folder)
        return Secret(self.server(), *self.namespace_and_name())

    def server(self) -> ApiServer:
        """Return the API server."""
        return self.connection.open_api_server()

    def namespace_and_name(self) -> tuple[str, str]:
        """Return what names the Secret."""
        namespace, _, name = (self.secret or "").partition("/")
        if not (namespace and name):
            raise click.UsageError("--secret is NAMESPACE/NAME")
        return namespace, name


def location_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for where certificates are, as `where`."""

    @click.option(
        "--dir",
        "folder",
        envvar="GLASSWARDEN_CERTS",
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder with ca.crt, tls.crt and tls.key.",
    )
    @click.option(
        "--secret",
        envvar="GLASSWARDEN_CERTS_SECRET",
        metavar="NAMESPACE/NAME",
        help="The Secret with the certificates.",
    )
    @connection_options(namespace="")
    @wraps(function)
    def command(
        folder: Path | None,
        secret: str | None,
        connection: Connection,
        **options: Any,  # noqa: ANN401 - the command's own options
    ) -> None:
        function(where=CertificateLocation(folder, secret, connection), **options)

    return command


def timing_options(command: F) -> F:
    """Give *command* the options for how long things take."""
    default = Timing()
    for name, value, text in (
        ("lifetime", default.lifetime, "How long a certificate is valid; replaced at two thirds."),
        ("settle", default.settle, "How long API servers may take to read a configuration."),
        ("overlap", default.overlap, "How long replicas may take to serve a new certificate."),
    ):
        command = click.option(
            f"--{name}",
            type=DURATION,
            default=value,
            show_default=render_span(value),
            envvar=f"GLASSWARDEN_CERTS_{name.upper()}",
            help=text,
        )(command)
    return command


HOSTS = click.option(
    "--host",
    "hosts",
    required=True,
    multiple=True,
    envvar="GLASSWARDEN_CERTS_HOSTS",
    help="A name or address of the webhook; may be repeated.",
)


@click.group("certs")
def command() -> None:
    """Make and renew the certificates by which the API server trusts the webhook."""


@command.command("issue")
@location_options
@HOSTS
@click.option("--lifetime", type=DURATION, default=Timing().lifetime, show_default="90 days")
def issue(
    where: CertificateLocation,
    hosts: tuple[str, ...],
    lifetime: timedelta,
) -> None:
    """Issue a new authority and a serving certificate signed by it, in place of what is there.

    Configurations that trust the old authority stop trusting the webhook: where one is registered,
    `rotate` is what you want. The caller token stays.
    """
    place = where.open()
    with _exit_on_errors("no certificate was issued"):
        if not isinstance(place, Folder):
            place.read_caller_token()
        _reject_cert_managers_secret(place)
        place.write(first_state(hosts, datetime.now(UTC), Timing(lifetime)))
    if isinstance(place, Folder):
        for path in (place.authority, place.certificate, place.key, place.caller_token):
            click.echo(path)
    else:
        click.echo(place.location)


def _reject_cert_managers_secret(place: Folder | Secret) -> None:
    """Leave a Secret alone that was read and is cert-manager's: it would write over ours again."""
    if isinstance(place, Secret) and place.is_cert_managers():
        raise click.ClickException(
            f"cert-manager keeps {place.location}: `cmctl renew` renews what it keeps"
        )


@command.command("rotate")
@location_options
@timing_options
@click.option(
    "--begin-only", is_flag=True, help="Leave the rest to `certs run`, which watches this place."
)
def rotate(
    where: CertificateLocation,
    *,
    begin_only: bool,
    **timing: timedelta,
) -> None:
    """Begin a rotation, or take it one step further; print what comes next, and when.

    The new authority enters our webhook configurations before a certificate of it is served, and
    the old one leaves after. Nothing is done before its time: call it again, or let `certs run` do
    it.
    """
    place, times, now = where.open(), Timing(**timing), datetime.now(UTC)
    with _exit_on_errors("nothing was rotated"):
        state = _read_state(place)
        _reject_cert_managers_secret(place)
        hosts = _hosts(state)
        if state.phase is Phase.STEADY:
            state = begin_rotation(state, hosts, now, times)
            place.write(state)
        if not begin_only:
            state = _new_controller(where, place, hosts, times).run_pass(now).state
    _print_next_step(state, times, now)


@command.command("show")
@location_options
def show(where: CertificateLocation) -> None:
    """Show the certificate that is served, the authorities trusted, and what comes next."""
    place, now = where.open(), datetime.now(UTC)
    with _exit_on_errors("nothing to show"):
        state = _read_state(place)
    click.echo(f"in           {place.location}")
    click.echo(f"hosts        {', '.join(_hosts(state))}")
    click.echo(
        f"expires      {state.expires:%Y-%m-%d %H:%M} UTC, in {render_span(state.expires - now)}"
    )
    for authority in state.authorities:
        click.echo(f"trusted      {_fingerprint(authority)}")
    _print_next_step(state, Timing(), now)


@command.command("check")
@location_options
def check(where: CertificateLocation) -> None:
    """Exit with 1 unless the certificate is valid, and not due for replacement."""
    place, now = where.open(), datetime.now(UTC)
    with _exit_on_errors("unusable"):
        state = _read_state(place)
    if state.expires <= now:
        raise click.ClickException(f"expired {render_span(now - state.expires)} ago")
    if state.phase is Phase.STEADY and is_due(state, _hosts(state), now):
        left = render_span(state.expires - now)
        raise click.ClickException(
            f"to be replaced: it expires in {left}; glasswarden certs rotate"
        )
    click.echo(f"valid for {render_span(state.expires - now)}, {state.phase.value}")


@command.command("run")
@location_options
@HOSTS
@timing_options
@click.option(
    "--interval",
    type=DURATION,
    default="5s",
    show_default=True,
    help="Time between two passes.",
)
@click.option(
    "--listen",
    default="127.0.0.1:8081",
    show_default=True,
    envvar="GLASSWARDEN_CERTS_LISTEN",
    metavar="HOST:PORT",
    help="Where /metrics, /healthz and /readyz are served.",
)
@click.option(
    "--identity",
    default=socket.gethostname,
    show_default="the host's name",
    help="Among replicas, who we are.",
)
@click.option(
    "--restore",
    "restored_service",
    metavar="NAMESPACE/NAME",
    envvar="GLASSWARDEN_CERTS_RESTORE",
    help="Create a deleted webhook configuration anew, for this Service. Otherwise it is reported.",
)
@click.option(
    "--policy",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The rules that a restored configuration follows from; the built-in ones without it.",
)
@click.option(
    "--logging",
    envvar="GLASSWARDEN_LOGGING",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the log's level; read again when it changes, and need not be there.",
)
def run(
    where: CertificateLocation,
    hosts: tuple[str, ...],
    *,
    interval: timedelta,
    listen: str,
    identity: str,
    restored_service: str | None,
    policy: Path | None,
    logging: Path | None,
    **timing: timedelta,
) -> None:
    """Keep the certificates until stopped: issue, publish, rotate, each in its time.

    Of several replicas on one Secret, one leads.
    """
    from certs import metrics  # noqa: PLC0415 - loads what shares metrics
    from certs.program import Program  # noqa: PLC0415
    from glasswarden.logs import (  # noqa: PLC0415
        LogFile,
        Sampler,
        configure_logs,
    )
    from glasswarden.probes import AddressUnusable, new_pages, serving  # noqa: PLC0415

    configure_logs()
    LogFile(logging, Sampler()).follow_aside()
    place = where.open()
    lease = None
    if not isinstance(place, Folder):
        lease = Lease(place.server, place.namespace, LEASE, identity)
    restore = _restoring(where, restored_service, policy) if restored_service else None
    controller = _new_controller(where, place, hosts, Timing(**timing), restore)
    program = Program(controller, lease, interval)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: program.stop())
    try:
        with serving(new_pages(program, metrics.REGISTRY), listen):
            program.run()
    except AddressUnusable as error:
        raise click.ClickException(str(error)) from error


def _new_controller(
    where: CertificateLocation,
    place: Folder | Secret,
    hosts: tuple[str, ...],
    timing: Timing,
    restore: Restore | None = None,
) -> CertificateController:
    server = where.server()

    def publish(bundle: bytes) -> Conditions:
        seen = configurations.publish_bundle(server, bundle)
        return configurations.restore_missing(server, bundle, seen, restore) if restore else seen

    return CertificateController(place, publish, hosts, timing)


def _restoring(where: CertificateLocation, service: str, policy_file: Path | None) -> Restore:
    """Return how a webhook configuration is made, for the webhook behind *service*."""
    namespace, _, name = service.partition("/")
    # Not the controller's own view of the Secret, which must not change during a pass.
    place = where.open()

    def make(bundle: bytes) -> list[dict[str, Any]]:
        endpoint = Endpoint(Service(namespace, name), bundle, place.read_caller_token())
        try:
            policy = load_policy(policy_file) if policy_file else DEFAULT
            return list(both(policy, endpoint))
        except (PolicyUnreadable, PolicyTooLarge) as error:
            raise RestoreFailed(str(error)) from error

    return make


def _read_state(place: Folder | Secret) -> State:
    state = place.read()
    if state is None:
        raise StateUnreadable("nothing was issued there; try: glasswarden certs issue")
    return state


def _hosts(state: State) -> tuple[str, ...]:
    return names_of(state.serving.certificate)


def _fingerprint(certificate: x509.Certificate) -> str:
    return "sha256:" + str(certificate.fingerprint(SHA256()).hex())


def _print_next_step(state: State, timing: Timing, now: datetime) -> None:
    moment = next_change_of(state, timing)
    when = "" if moment is None or moment <= now else f", not before {moment:%Y-%m-%d %H:%M:%S} UTC"
    click.echo(f"{state.phase.value:<12} {NEXT[state.phase]}{when}")


@contextmanager
def _exit_on_errors(outcome: str) -> Iterator[None]:
    """End the command with a sentence where something outside failed."""
    try:
        yield
    except (OSError, ValueError, StateUnreadable, ApiServerError) as error:
        raise click.ClickException(f"{outcome}: {error}") from error
