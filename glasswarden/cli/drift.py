"""`glasswarden drift`: what is not as Git says, for the terminal and for CI."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from correlator.classify import Scene, classified
from correlator.confirm import Confirmation
from correlator.declared import (
    Address,
    DeclaredUnreadable,
    Manifests,
    Release,
    fingerprint,
    parse_address,
    read_declared,
)
from correlator.detector.detect import Detector
from correlator.detector.managers import applier_of
from correlator.filters import Filter, parse_age
from correlator.finding import Response, Result, joined, result_as_json, without_secrets
from correlator.follow import Follower
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Live, Scope
from correlator.output.markdown import render_markdown
from correlator.output.table import render_table
from correlator.output.text import printable
from correlator.scan import Progress, Scan
from correlator.sources import IMPORTS
from glasswarden.cli.inputs import read_bytes, read_policy
from glasswarden.cluster.apiserver import (
    Access,
    ApiServer,
    ApiServerError,
    NoAccess,
    access_in_cluster,
)
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.policy.policy import DEFAULT, Policy

WATCH_SECONDS: Final = 2.0
UNKNOWN_WIDTH: Final = 120
"""Columns where there is no terminal to ask."""

_FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


class CannotLook(click.ClickException):
    """Nothing could be compared: that is neither drift nor the lack of it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    address: Address
    path: str
    release: Release
    scope: Scope
    only: Filter
    policy: Policy
    confirm: bool

    def manifests(self) -> Manifests:
        """Return what Git declares."""
        return read_declared(self.address, self.path, self.release)


@click.command("drift")
@click.option(
    "--git",
    "address",
    default="",
    metavar="DIR|URL[@REV]",
    help="What is declared: a folder as it lies there, or a repository at a revision.",
)
@click.option("--path", default="", metavar="PATH", help="The folder inside of it.")
@click.option(
    "--values", multiple=True, type=_FILE, help="Values for a Helm chart; may be repeated."
)
@click.option("--live", "folder", type=_FOLDER, help="Compare with the objects in this folder.")
@click.option(
    "--kubeconfig",
    envvar="KUBECONFIG",
    type=_FILE,
    help="Compare with this cluster; ~/.kube/config, or the cluster we run in, without it.",
)
@click.option("--app", default="", help="Only this application's objects; also the release's name.")
@click.option(
    "--namespace", "-n", default="", help="Only this namespace; objects that name none are in it."
)
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option(
    "--since",
    default="",
    metavar="AGE",
    help="Only what is at most this old: 90m, 24h, 7d.",
)
@click.option(
    "--policy", "policy_file", envvar="GLASSWARDEN_POLICY", type=_FILE, help="The policy file."
)
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FORMAT=FILE",
    help=f"Findings of another program: {', '.join(IMPORTS)}; may be repeated.",
)
@click.option("--confirm", is_flag=True, help="Confirm by a server-side dry run of each object.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is drift.")
@click.option("--watch", is_flag=True, help="Show the table again whenever it changes.")
def command(
    *,
    address: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    kubeconfig: Path | None,
    app: str,
    namespace: str,
    kinds: tuple[str, ...],
    since: str,
    policy_file: Path | None,
    imports: tuple[str, ...],
    confirm: bool,
    form: str,
    exit_code: bool,
    watch: bool,
) -> None:
    """Compare what Git declares with what is live, field by field.

    Exits with 0, with 1 for drift if --exit-code is given, and with 2 if nothing could be compared.
    With --exit-code, findings to be ignored do not count, and what could not be looked at exits
    with 2.
    """
    try:
        age = parse_age(since)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--since") from error
    if not address and (watch or not imports):
        raise click.UsageError("say what is declared with --git")
    if folder is not None and (watch or confirm):
        raise click.UsageError("--watch and --confirm need a cluster, not --live")
    with _explained():
        request = Request(
            parse_address(address),
            path,
            Release(app, namespace, tuple(file.absolute() for file in values)),
            Scope(namespace, namespace or "default"),
            Filter(app, namespace, kinds, age),
            read_policy(policy_file) if policy_file else DEFAULT,
            confirm,
        )
        if watch:
            _watch(request, ApiServer(_access(kubeconfig), "glasswarden-drift"), form)
            return
        result = _imported(request, imports)
        if address:
            result = joined(_result(request, folder, kubeconfig), result)
    click.echo(_rendered(result, form))
    if exit_code:
        sys.exit(_exit_code(result))


def _result(request: Request, folder: Path | None, kubeconfig: Path | None) -> Result:
    manifests = request.manifests()
    if folder is not None:
        return _scanned(request, manifests, FolderLive(folder, request.scope))
    server = ApiServer(_access(kubeconfig), "glasswarden-drift")
    live = ClusterLive(server, request.scope)
    confirmation = Confirmation(server, live, lambda each: applier_of(each.owner))
    return _scanned(request, manifests, live, confirmation if request.confirm else None)


def _imported(request: Request, imports: tuple[str, ...]) -> Result:
    """Return what the files of other programs tell."""
    scene = _scene(request)
    result = Result()
    for each in imports:
        form, _, file = each.partition("=")
        if form not in IMPORTS or not file:
            raise click.BadParameter(f"{each!r} is not FORMAT=FILE", param_hint="--import")
        text = read_bytes(Path(file)).decode(errors="replace")
        found = IMPORTS[form](text, form)
        told = (without_secrets(classified(one, scene), request.policy) for one in found.findings)
        wanted = tuple(one for one in told if request.only.wants(one.ref))
        result = joined(result, request.only.applied(Result(wanted, found.incomplete), scene.now))
    return result


def _scanned(
    request: Request, manifests: Manifests, live: Live, confirmation: Confirmation | None = None
) -> Result:
    scan = _new_scan(request, manifests, live)
    scan.run()
    if confirmation is not None:
        scan.confirm(confirmation)
    scene = _scene(request)
    return request.only.applied(scan.result(scan.scene(scene)), scene.now)


def _new_scan(request: Request, manifests: Manifests, live: Live) -> Scan:
    detector = Detector(request.policy, manifests.revision)
    apps = frozenset(filter(None, [request.only.app]))
    return Scan(detector, manifests, live, _teller(), request.only.wants, apps)


def _scene(request: Request) -> Scene:
    return Scene(request.policy, datetime.now(UTC))


def _watch(request: Request, server: ApiServer, form: str) -> None:
    def new_scan() -> tuple[Scan, ClusterLive]:
        live = ClusterLive(server, request.scope)
        return _new_scan(request, request.manifests(), live), live

    follower = Follower(server, new_scan, lambda: fingerprint(request.address, request.path))
    shown = ""
    try:
        while True:
            text = _watched(request, follower, form)
            if text != shown:
                click.clear()
                click.echo(text)
                shown = text
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        click.echo(err=True)
    finally:
        follower.close()


def _watched(request: Request, follower: Follower, form: str) -> str:
    """Return what a pass finds, or why it finds nothing: a wall outlives an outage."""
    scene = _scene(request)
    try:
        result = request.only.applied(follower.run(scene), scene.now)
    except (DeclaredUnreadable, ApiServerError) as error:
        return printable(f"Nothing could be looked at: {error}")
    return _rendered(result, form)


def _rendered(result: Result, form: str) -> str:
    match form:
        case "json":
            return json.dumps(result_as_json(result), indent=2)
        case "markdown":
            return render_markdown(result).rstrip("\n")
        case _:
            return render_table(result, shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns)


def _exit_code(result: Result) -> int:
    if any(each.verdict and each.verdict.response != Response.IGNORE for each in result.findings):
        return 1
    return 2 if result.incomplete else 0


def _teller() -> Callable[[Progress], None]:
    """Return what tells a person how far a scan is, if one is looking."""

    def tell(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return tell if sys.stderr.isatty() else lambda _: None


def _access(kubeconfig: Path | None) -> Access:
    if kubeconfig is not None:
        # $KUBECONFIG may list several files; the first one that exists counts.
        files = [Path(each) for each in str(kubeconfig).split(os.pathsep)]
        return access_from(next((file for file in files if file.exists()), kubeconfig))
    own = Path.home() / ".kube" / "config"
    if own.exists() and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return access_from(own)
    return access_in_cluster()


@contextmanager
def _explained() -> Iterator[None]:
    """End with a sentence where nothing can be compared."""
    try:
        yield
    except (DeclaredUnreadable, NoAccess, ApiServerError) as error:
        raise CannotLook(str(error)) from error
    except click.UsageError:
        raise
    except click.ClickException as error:  # a policy, or a file to import, that cannot be read
        raise CannotLook(error.message) from error
