"""`glasswarden webhook`: serve admission reviews."""

from pathlib import Path

import click

from certs.files import Folder
from glasswarden.cli.options import Connection, connection_options
from glasswarden.keys.folder import KeysUnreadable
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable
from glasswarden.ledger.open import keys_beside, spool_beside
from glasswarden.policy_file import PolicyUnreadable
from webhook.server.tls import CertificateUnusable
from webhook.settings import Settings


@click.command("webhook")
@click.option(
    "--bind",
    default="0.0.0.0:8443",
    show_default=True,
    envvar="GLASSWARDEN_BIND",
    metavar="HOST:PORT",
    help="Address to listen on.",
)
@click.option(
    "--certs",
    "folder",
    required=True,
    envvar="GLASSWARDEN_CERTS",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with tls.crt, tls.key and caller-token; the first two are read again on change.",
)
@click.option(
    "--client-ca",
    envvar="GLASSWARDEN_CLIENT_CA",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Only answer reviews of callers with a certificate of this authority (PEM).",
)
@click.option(
    "--ledger",
    required=True,
    envvar="GLASSWARDEN_LEDGER",
    metavar="ADDRESS",
    help="Where records go: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
)
@click.option(
    "--keys",
    envvar="GLASSWARDEN_KEYS",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the keys of ledger and grants; made beside an SQLite ledger by default.",
)
@click.option(
    "--spool",
    envvar="GLASSWARDEN_SPOOL",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of records for an unavailable ledger. Beside an SQLite ledger by default.",
)
@click.option(
    "--spool-megabytes",
    default=64,
    show_default=True,
    envvar="GLASSWARDEN_SPOOL_MEGABYTES",
    type=click.IntRange(1),
    help="How much each process lets wait there.",
)
@click.option(
    "--policy",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the rules; read again when it changes. Built-in rules without it.",
)
@click.option(
    "--logging",
    envvar="GLASSWARDEN_LOGGING",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the log's level and samples; read again when it changes, need not be there.",
)
@connection_options(
    namespace="",
    kubeconfig="How to reach the API server from outside its cluster, for lookups and Events.",
)
@click.option(
    "--events/--no-events",
    default=True,
    show_default=True,
    envvar="GLASSWARDEN_EVENTS",
    help="Publish grants, their uses and denials as Kubernetes Events on the objects.",
)
@click.option(
    "--fast-http/--no-fast-http",
    default=True,
    show_default=True,
    envvar="GLASSWARDEN_FAST_HTTP",
    help="Answer reviews on the fast HTTP path; without it, gunicorn parses every request.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    envvar="GLASSWARDEN_WORKERS",
    type=click.IntRange(1, 64),
    help="Processes that answer reviews.",
)
def command(
    *,
    bind: str,
    folder: Path,
    client_ca: Path | None,
    ledger: str,
    keys: Path | None,
    spool: Path | None,
    spool_megabytes: int,
    policy: Path | None,
    logging: Path | None,
    connection: Connection,
    events: bool,
    fast_http: bool,
    workers: int,
) -> None:
    """Serve admission reviews over TLS until stopped."""
    # Loaded when it is to serve: it sets up what its processes will share.
    from webhook.server.gunicorn import AddressUnusable, serve  # noqa: PLC0415

    files = Folder(folder)
    settings = Settings(
        bind=bind,
        certificate=files.certificate,
        key=files.key,
        client_authority=client_ca,
        caller_token=_caller_token(files),
        ledger=ledger,
        keys=keys or _keys_beside(ledger),
        makes_keys=keys is None,
        spool=spool or spool_beside(ledger),
        spool_bytes=spool_megabytes * 1_000_000,
        policy=policy,
        logging=logging,
        kubeconfig=connection.kubeconfig,
        choice=connection.choice,
        events=events,
        fast_http=fast_http,
        workers=workers,
    )
    try:
        serve(settings)
    except PolicyUnreadable as error:
        raise click.ClickException(f"{error}\nTry: glasswarden policy check {policy}") from error
    except (KeyUnusable, KeysUnreadable) as error:
        raise click.ClickException(str(error)) from error
    except AddressUnusable as error:
        raise click.ClickException(f"{error}\nChoose another address with --bind.") from error
    except CertificateUnusable as error:
        raise click.ClickException(f"{error}\n{_advice(files)}") from error


def _keys_beside(ledger: str) -> Path:
    try:
        return keys_beside(ledger)
    except AddressInvalid as error:
        raise click.ClickException(str(error)) from error


def _caller_token(files: Folder) -> str:
    try:
        token = files.caller_token.read_text().strip()
    except OSError as error:
        raise click.ClickException(f"{files.caller_token}: {error}\n{_advice(files)}") from error
    if not token:
        raise click.ClickException(f"{files.caller_token} is empty\n{_advice(files)}")
    return token


def _advice(files: Folder) -> str:
    return f"Make the files with: glasswarden certs issue --dir {files.path} --host NAME"
