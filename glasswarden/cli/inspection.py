"""One pass: what a scan finds, and what other programs found.

What `glasswarden drift` was asked for, and how it ends where it cannot be done.

What was asked for and could not be had: it costs itself, and is said beside the rest.

The ledger as it was named on the command line.

Argo CD as it was named on the command line.

What was typed behind `glasswarden drift`, and what of it cannot go together.

What differs from Git now, with its causes: for commands that tell of it among other things.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import click

from correlator.audit.log import AuditLog
from correlator.audit.observed_write import select_lasting
from correlator.classify.rule import Scene
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address, parse_address
from correlator.declared.manifests import Manifests
from correlator.declared.read import read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.detector.managers import applier_of
from correlator.finding import Filter, Finding, Incomplete, Result, join_results
from correlator.inspection.attribute import Causes, NoCauses
from correlator.inspection.conclude import beside, concluded, passed
from correlator.inspection.confirm import Confirmation
from correlator.inspection.scan import Progress, Scan
from correlator.linker import Linking, unlinked
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Live, Scope
from correlator.sources.argocd_api import ArgoCDApi, ArgoCDUnreachable, Asked
from correlator.sources.argocd_core import read_core
from correlator.sources.argocd_people import naming
from correlator.sources.imports import IMPORTS
from glasswarden.cli.evidence import cluster_of, masks_at
from glasswarden.cli.options import access_to, now, read_bytes, read_policy
from glasswarden.cluster.client import ApiServer, ApiServerError, NoAccess
from glasswarden.kube.objects import Ref
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.open import open_ledger
from glasswarden.policy.policy import DEFAULT, Policy


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

    def scene(self) -> Scene:
        """Return what findings are judged by at this moment."""
        return Scene(self.policy, now())


@contextmanager
def explained() -> Iterator[None]:
    """End with a sentence where nothing can be compared."""
    try:
        yield
    except (DeclaredUnreadable, NoAccess, ApiServerError, ArgoCDUnreachable, LedgerError) as error:
        raise CannotLook(str(error)) from error
    except click.UsageError:
        raise
    except click.ClickException as error:  # a policy, or a file to import, that cannot be read
        raise CannotLook(error.message) from error


_FAILURES: Final = (
    ApiServerError,
    ArgoCDUnreachable,
    DeclaredUnreadable,
    LedgerError,
    click.ClickException,
)


class Losses:
    """Counts what was had, and keeps what was not."""

    def __init__(self) -> None:
        self.incomplete: list[Incomplete] = []
        self._had = 0

    @contextmanager
    def part(self, what: str, *, is_source: bool = True) -> Iterator[None]:
        """Let the block fail, and say so; *is_source* where its success tells something."""
        try:
            yield
        except click.UsageError:
            raise
        except _FAILURES as error:
            why = error.message if isinstance(error, click.ClickException) else str(error)
            self.incomplete.append(Incomplete(what, why))
        else:
            self._had += is_source

    def check(self) -> None:
        """End where nothing was had at all: that is neither drift nor the lack of it."""
        if self.incomplete and not self._had:
            raise CannotLook("; ".join(dict.fromkeys(each.why for each in self.incomplete)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options, by the names that they have there."""

    address: str
    path: str
    values: tuple[Path, ...]
    folder: Path | None
    kubeconfig: Path | None
    app: str
    namespace: str
    kinds: tuple[str, ...]
    age: timedelta | None
    policy_file: Path | None
    imports: tuple[str, ...]
    argocd_url: str
    argocd_token: Path | None
    argocd_ca: Path | None
    argocd_cluster: str
    ledger: str | None
    keys: Path | None
    audit_logs: tuple[Path, ...]
    cluster: str | None
    unexplained: bool
    confirm: bool
    form: str
    exit_code: bool
    is_watch: bool

    def check(self) -> None:
        """End where what was asked for cannot go together."""
        told = self.imports or self.ledger or self.audit_logs or self.argocd_url
        if not self.address and (self.is_watch or not told):
            ways = "--git, --ledger, --argocd, --audit-log or --import"
            raise click.UsageError(f"say what to go by: {ways}")
        if not self.address and self.confirm:
            raise click.UsageError("--confirm needs something to apply: --git")
        if self.folder is not None and (self.is_watch or self.confirm):
            raise click.UsageError("--watch and --confirm need a cluster, not --live")
        if self.is_watch and (given := self._looked_at_once()):
            raise click.UsageError(f"--watch goes by Git alone, not by {' or '.join(given)}")
        if self.unexplained and self.ledger is None:
            raise click.UsageError("--unexplained needs a ledger to ask: --ledger")

    def _looked_at_once(self) -> list[str]:
        """Return those of the options given that nobody can follow."""
        once = {
            "--audit-log": self.audit_logs,
            "--argocd": self.argocd_url,
            "--confirm": self.confirm,
            "--import": self.imports,
        }
        return [option for option, value in once.items() if value]

    def request(self) -> Request:
        """Return what is to be compared, and by which policy."""
        return Request(
            parse_address(self.address),
            self.path,
            Release(self.app, self.namespace, tuple(file.absolute() for file in self.values)),
            Scope(self.namespace, self.namespace or "default"),
            Filter(self.app, self.namespace, self.kinds, self.age, unexplained=self.unexplained),
            read_policy(self.policy_file) if self.policy_file else DEFAULT,
            self.confirm,
        )

    def cluster_in(self, request: Request) -> str | None:
        """Return what the ledger calls the cluster, if that was said."""
        return self.cluster or (request.policy.cluster if self.policy_file else None)


TOKEN: Final = "ARGOCD_AUTH_TOKEN"  # noqa: S105 - the name of a variable
"""Where Argo CD's own command line looks for a token."""

CORE: Final = "core"
"""Stands for an Argo CD without an API."""

Source: TypeAlias = Callable[[Live], Result]
"""Tells what it knows of the objects that are live."""

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
Function = TypeVar("Function", bound=Callable[..., object])


def argocd_options(function: Function) -> Function:
    """Let a command be told of an Argo CD; `argocd_source` takes the options."""
    options = (
        click.option(
            "--argocd",
            "argocd_url",
            default="",
            metavar="URL|core",
            help="Also what this Argo CD sees, by its API; or by its Applications alone: core.",
        ),
        click.option(
            "--argocd-token", type=_FILE, help=f"The file with the token; else ${TOKEN} holds it."
        ),
        click.option("--argocd-ca", type=_FILE, help="The authority behind its certificate."),
        click.option(
            "--argocd-cluster",
            default="",
            metavar="NAME",
            help="What Argo CD calls the cluster, where it is not its own.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def argocd_source(options: Options, policy: Policy) -> Source | None:
    """Return what asks the Argo CD that *options* name, if they do; raise `ArgoCDUnreachable`."""
    url, asked = options.argocd_url, Asked(options.app, options.argocd_cluster)
    if not url:
        return None
    if url == CORE:
        return lambda live: read_core(live, policy, asked)
    api = ArgoCDApi(url, _token(options.argocd_token), options.argocd_ca)
    return lambda _: api.read(asked)


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        return file.read_text().strip()
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error


IsCompared: TypeAlias = Callable[[Ref], bool]
"""Tells whether an object was held against Git."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Who is asked beside Git, and what to do with whoever does not answer."""

    causes: Causes | NoCauses
    losses: Losses
    source: Source | None = None
    told: tuple[Result, ...] = ()
    """What the files of other programs tell."""
    audit: AuditLog | None = None
    """The API server's log: what got past the webhook."""


def of_folder(request: Request, folder: Path, asked: Inputs) -> Result:
    """Return how the objects in *folder* differ from what Git, the ledger and others say."""
    return _passed(request, FolderLive(folder, request.scope), asked)


def of_cluster(request: Request, kubeconfig: Path | None, asked: Inputs) -> Result:
    """Return how the cluster differs from what Git, the ledger and others say."""
    server = ApiServer(access_to(kubeconfig), "glasswarden-drift")
    live = ClusterLive(server, request.scope)
    confirmation = Confirmation(server, live, lambda each: applier_of(each.owner))
    return _passed(request, live, asked, confirmation if request.confirm else None)


def of_others(request: Request, asked: Inputs) -> Result:
    """Return what the files of other programs tell, with nothing live to hold them against."""
    scene = request.scene()
    result = Result()
    for each in asked.told:
        found = concluded(each.findings, scene, _linker(asked))
        told = Result(found, each.incomplete)
        result = join_results(result, request.only.apply(told, scene.now))
    return join_results(result, _past(request, asked, result.findings))


def imported(request: Request, imports: tuple[str, ...], losses: Losses) -> tuple[Result, ...]:
    """Return what the files of other programs tell, as it stands there."""
    found = []
    for each in imports:
        form, _, file = each.partition("=")
        if form not in IMPORTS or not file:
            raise click.BadParameter(f"{each!r} is not FORMAT=FILE", param_hint="--import")
        with losses.part(f"--import {each}"):
            text = read_bytes(Path(file)).decode(errors="replace")
            found.append(request.only.select_objects(IMPORTS[form](text, form)))
    return tuple(found)


def new_scan(request: Request, manifests: Manifests, live: Live) -> Scan:
    """Return a scan that has not looked yet."""
    detector = Detector(request.policy, manifests.revision)
    apps = frozenset(filter(None, [request.only.app]))
    return Scan(detector, manifests, live, _teller(), request.only.matches, apps)


def _passed(
    request: Request,
    live: Live,
    asked: Inputs,
    confirmation: Confirmation | None = None,
) -> Result:
    scene = request.scene()
    with asked.losses.part("the ledger", is_source=False):
        scene = replace(scene, open_grants=asked.causes.open_grants(scene.now))
    linked = naming(live, _linker(asked))
    told = _told(request, live, asked)
    found: Result | None = None
    is_compared: IsCompared = _never
    if request.address.place:
        with asked.losses.part(f"--git {request.address.place}"):
            scan = new_scan(request, request.manifests(), live)
            scan.run()
            if confirmation is not None:
                scan.confirm(confirmation)
            scan.take(told)
            found, is_compared = scan.result(scan.scene(scene), linked), scan.has_compared
    found = found or passed(told, live, scene, linked)
    result = request.only.apply(found, scene.now)
    return join_results(result, _past(request, asked, found.findings, is_compared))


def _never(_: Ref) -> bool:
    """Say that no object was compared."""
    return False


def _past(
    request: Request,
    asked: Inputs,
    found: Sequence[Finding],
    is_compared: IsCompared = _never,
) -> Result:
    """Return what the audit log shows that no record speaks of, and *found* does not tell."""
    log = asked.audit
    if log is None:
        return Result()
    told = Result()
    with asked.losses.part("the audit log"):
        sightings = (each for each in log.watch.observed_writes if request.only.matches(each.ref))
        told = Result(tuple(select_lasting(sightings, found, is_compared)), tuple(log.incomplete))
    return request.only.apply(told, request.scene().now)


def _told(request: Request, live: Live, asked: Inputs) -> Result:
    """Return what others than Git tell; of the same field, who is asked first."""
    results: list[Result] = []
    if asked.source is not None:
        with asked.losses.part("Argo CD"):
            results.append(request.only.select_objects(asked.source(live)))
    with asked.losses.part("the ledger", is_source=not isinstance(asked.causes, NoCauses)):
        standing = asked.causes.standing(live, request.only, request.scene().now)
        results += [standing] if standing is not None else []
    results += asked.told
    return reduce(beside, results) if results else Result()


def _linker(asked: Inputs) -> Linking:
    """Return what links by the ledger, if it answers."""
    found: list[Linking] = [unlinked]
    with asked.losses.part("the ledger", is_source=False):
        found.append(asked.causes.linker())
    return found[-1]


def _teller() -> Callable[[Progress], None]:
    """Return what tells a person how far a scan is, if one is looking."""

    def tell(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return tell if sys.stderr.isatty() else lambda _: None


@contextmanager
def causes_from(
    address: str | None,
    keys: Path | None,
    cluster: str | None,
    policy: Policy,
    audit: AuditLog | None,
    losses: Losses,
) -> Iterator[Causes | NoCauses]:
    """Open the ledger at *address*, if one was named; *cluster* is its name there, if known.

    One that cannot be opened is among *losses* then, and nothing is put down to anybody.
    """
    with ExitStack() as opened:
        causes: Causes | NoCauses = NoCauses()
        if address is not None:
            masks = masks_at(keys, address)
            with losses.part("the ledger", is_source=False):
                ledger = opened.enter_context(closing(open_ledger(address, create=False)))
                causes = Causes(ledger, cluster_of(ledger, cluster), policy, masks, audit)
        yield causes


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares as `drift` does, by one ledger."""

    address: str
    """The ledger's."""
    keys: Path | None
    cluster: str
    policy: Policy
    namespace: str
    app: str
    folder: Path | None
    """The objects as they were taken from the cluster, which is not asked then."""
    kubeconfig: Path | None
    audit: AuditLog | None = None
    home: str = ""
    """The namespace of objects that name none, where all namespaces count."""

    def made(self, git: str, path: str, values: tuple[Path, ...] = ()) -> Result:
        """Return what differs from *git*; without it, which direct writes still stand.

        Raises `CannotLook`.
        """
        losses, cluster = Losses(), self.cluster or None
        with (
            explained(),
            causes_from(
                self.address, self.keys, cluster, self.policy, self.audit, losses
            ) as causes,
        ):
            request, asked = self._request(git, path, values), Inputs(causes, losses)
            if self.folder is not None:
                result = of_folder(request, self.folder, asked)
            else:
                result = of_cluster(request, self.kubeconfig, asked)
            losses.check()
        return join_results(result, Result(incomplete=tuple(losses.incomplete)))

    def _request(self, git: str, path: str, values: tuple[Path, ...]) -> Request:
        return Request(
            parse_address(git),
            path,
            Release(self.app, self.namespace, tuple(each.absolute() for each in values)),
            Scope(self.namespace, self.namespace or self.home or "default"),
            Filter(self.app, self.namespace),
            self.policy,
            confirm=False,
        )
