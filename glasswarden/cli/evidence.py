"""Which records a command goes by: a ticket, a person, an application, a place, a time.

What Git declares, for commands that ask what it has taken over by now.

`--audit-log`: the API server's audit log, for whatever can use it as a witness.

Objects as they are live: through the person's own kubectl, or from files taken with it.

Options that the ledger's commands share.

The keys that hidden values were masked with, where they are at hand.

Which of a ledger's clusters is meant.

Numbers as people read them.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from correlator.attribution.ledger import clusters_in
from correlator.audit.log import AuditLog, read_log
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import parse_address
from correlator.declared.manifests import Manifests
from correlator.declared.read import lookup_in, read_declared
from correlator.declared.render import Release, read_plain
from correlator.report.model import Scope
from correlator.still_live import Lookup, NotKnown
from glasswarden.audit.files import PATTERN
from glasswarden.cli.options import MOMENT, KindUnknown, Kubectl, kind_of
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.chain import MaintenanceWriter, open_maintenance, open_signer
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable, LedgerError
from glasswarden.ledger.keys import open_masks
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.open import is_postgres, keys_beside, open_ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import find_attempts
from glasswarden.policy.policy import Policy

PAGE: Final = 500
_NAMES: Final = ("ticket", "actor", "app", "namespace", "cluster", "since", "until")

Function = TypeVar("Function", bound=Callable[..., object])


def selection_options(function: Function) -> Function:
    """Let a command be told which records it goes by; `question_of` reads them."""
    for option in reversed(
        (
            click.option("--ticket", metavar="ID", help="What was done under this ticket."),
            click.option("--actor", metavar="USER", help="What this person did."),
            click.option("--app", metavar="NAME", help="What was done to this application."),
            click.option("--namespace", "-n", metavar="NAME", help="What was done in it."),
            click.option("--cluster", metavar="NAME", help="What was done in this cluster."),
            click.option("--since", type=MOMENT, help="Not before: 7d, 2h, or a date."),
            click.option("--until", type=MOMENT, help="Not after."),
        )
    ):
        function = option(function)
    return function


def question_of(options: dict[str, Any]) -> Question:
    """Return the question that *options* ask; one that asks for everything ends the command."""
    chosen = {name: options[name] for name in _NAMES}
    if not any(chosen.values()):
        raise click.UsageError("say what it is about: --ticket, --since, --app, --actor, …")
    return Question(**chosen, limit=PAGE)


def scope_of(question: Question) -> Scope:
    """Return *question* as a report says it."""
    return Scope(
        ticket=question.ticket or "",
        actor=question.actor or "",
        app=question.app or "",
        namespace=question.namespace or "",
        cluster=question.cluster or "",
        since=question.since,
        until=question.until,
    )


def attempts_for(ledger: Ledger, question: Question) -> list[Attempt]:
    """Return all that *question* wants, oldest first."""
    return sorted(find_attempts(ledger, question), key=lambda each: (each.time, each.id))


def git_options(function: Function) -> Function:
    """Let a command be told where Git's files are."""
    git = click.option(
        "--git", metavar="DIR|URL@REV", help="What is declared, to see what it took over."
    )
    path = click.option("--path", default="", metavar="FOLDER", help="The folder in --git.")
    return git(path(function))


def declared_in(git: str, path: str) -> tuple[Lookup, list[str]]:
    """Return a look into what Git declares, and what of it could not be read."""
    manifests = manifests_in(git, path)
    incomplete = [f"{each.what}: {each.why}" for each in manifests.incomplete]
    return lookup_in(manifests), incomplete


def manifests_in(git: str, path: str) -> Manifests:
    """Return what Git declares, or end with why it cannot be read."""
    try:
        return read_declared(parse_address(git), path, Release())
    except DeclaredUnreadable as error:
        raise click.ClickException(str(error)) from error


class AuditFiles(click.ParamType[tuple[Path, ...]]):
    """A file, a folder with rotated files, or a quoted pattern of them."""

    name = "FILE|FOLDER"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - whatever click hands over
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[Path, ...]:
        """Return the files that *value* names."""
        if isinstance(value, tuple):
            return value
        place = Path(value)
        folder, pattern = (place, PATTERN) if place.is_dir() else (place.parent, place.name)
        # A name that is there is that name, whatever it would mean as a pattern.
        candidates = [place] if place.is_file() else sorted(folder.glob(pattern))
        found = [each for each in candidates if each.is_file()]
        if not found:
            self.fail(f"{value!r}: no file of an audit log is there", param, ctx)
        return tuple(found)


audit_log_option = click.option(
    "--audit-log",
    "audit_logs",
    multiple=True,
    type=AuditFiles(),
    callback=lambda _ctx, _option, given: tuple(file for files in given for file in files),
    help="The API server's audit log: a file, zipped or not, a folder with rotated files, or a"
    " quoted pattern; may be repeated.",
)


@contextmanager
def audit_log_from(files: tuple[Path, ...], policy: Policy) -> Iterator[AuditLog | None]:
    """Read *files*, shown while that takes its time; yield nothing where there are none."""
    if not files:
        yield None
        return
    size = sum(file.stat().st_size for file in files)
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=size, label="Audit log", file=sys.stderr, hidden=hidden) as bar:
        log = read_log(files, policy, bar.update)
    with closing(log):
        yield log


live_option = click.option(
    "--live",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Objects taken with `kubectl get -o yaml --show-managed-fields`, instead of a cluster.",
)


def looking(folder: Path | None, kubectl: Callable[[], Kubectl]) -> "Live | Snapshot":
    """Return who looks objects up: in *folder* where one is given, else through *kubectl*."""
    return Live(kubectl()) if folder is None else Snapshot(folder)


class Live:
    """Looks each object up once, and remembers which could not be read."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._seen: dict[Ref, Object | None] = {}
        self.unread: dict[Ref, str] = {}
        """What could not be read, and what kubectl said about it."""

    def __call__(self, ref: Ref) -> Object | None:
        """Return the object, none where there is none; raise `NotKnown`."""
        if ref in self.unread:
            raise NotKnown(str(ref))
        if ref not in self._seen:
            try:
                self._seen[ref] = self._kubectl.find(ref)
            except click.ClickException as error:
                self.unread[ref] = error.message
                raise NotKnown(str(ref)) from error
        return self._seen[ref]


class Snapshot:
    """The objects in a folder; of what is not among them nothing is known."""

    def __init__(self, folder: Path) -> None:
        """Read *folder*, or end with why it cannot be read."""
        try:
            found = read_plain(folder)
        except DeclaredUnreadable as error:
            raise click.ClickException(str(error)) from error
        self._objects = [each.manifest for each in found.objects]
        self._folder = folder
        self.unread: dict[Ref, str] = {}
        """What was asked for and is not in the folder."""

    def __call__(self, ref: Ref) -> Object:
        """Return the object; raise `NotKnown`."""
        for obj, found in self._each(ref.kind):
            if (found.group, found.namespace, found.name) == (ref.group, ref.namespace, ref.name):
                return obj
        self.unread[ref] = f"it is not in {self._folder}"
        raise NotKnown(str(ref))

    def get(self, target: str, namespace: str) -> Object:
        """Return what *target*, as kubectl takes it, names in *namespace*; or end."""
        found = self.find(target, namespace)
        if found is None:
            raise click.ClickException(f"{self._folder} has no {target} in {namespace}")
        return found

    def find(self, target: str, namespace: str) -> Object | None:
        """Return what *target* names, none where the folder does not have it."""
        word, _, name = target.partition("/")
        try:
            kind = kind_of(word)
        except KindUnknown as error:
            raise click.BadParameter(str(error)) from error
        for obj, found in self._each(kind):
            if (found.namespace, found.name) in {(namespace, name), ("", name)}:
                return obj
        return None

    def _each(self, kind: str) -> Iterator[tuple[Object, Ref]]:
        for obj in self._objects:
            ref = ref_of(obj)
            if ref.kind == kind:
                yield obj, ref


def ledger_option(function: Function) -> Function:
    """Let a command be told its ledger as `address`."""
    return click.option(
        "--ledger",
        "address",
        required=True,
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def optional_ledger_option(function: Function) -> Function:
    """Let a command that can do without be told a ledger as `ledger`."""
    return click.option(
        "--ledger",
        "ledger",
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def keys_option(function: Function) -> Function:
    """Let a command be told the folder of the ledger's keys as `keys`."""
    return click.option(
        "--keys",
        envvar="GLASSWARDEN_KEYS",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder with the ledger's keys; beside an SQLite ledger where it is not given.",
    )(function)


def public_key_option(function: Function) -> Function:
    """Let a command be told whose signatures count as `public_keys`."""
    return click.option(
        "--public-key",
        "public_keys",
        multiple=True,
        envvar="GLASSWARDEN_PUBLIC_KEY",
        metavar="KEY",
        help="A key that checkpoints may be signed with, as `ledger key` prints it. Repeatable.",
    )(function)


@contextmanager
def existing(address: str) -> Iterator[Ledger]:
    """Open the ledger at *address* if there is one: a mistyped path must not look like a new one.

    What it raises is a `LedgerError`, for the command to say.
    """
    with closing(open_ledger(address, create=False)) as ledger:
        yield ledger


@contextmanager
def acting(
    ledger: Ledger, address: str, keys: Path | None, now: datetime
) -> Iterator[MaintenanceWriter]:
    """Let a command leave signed records of what it does with *ledger*."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    with open_maintenance(ledger, writer, open_signer(keys_folder(keys, address)), now) as clerk:
        yield clerk


@contextmanager
def opened(address: str, *, to_fill: bool = False) -> Iterator[Ledger]:
    """Open the ledger at *address*; what is wrong with it is said in a sentence.

    One that is *to_fill*, with very many records, is made where there is none.
    """
    with sentences(), closing(open_ledger(address, create=to_fill, in_bulk=to_fill)) as ledger:
        yield ledger


def keys_folder(keys: Path | None, address: str) -> Path:
    """Return where the keys of the ledger at *address* are."""
    with sentences():
        return keys or keys_beside(address)


def own_key(keys: Path | None, address: str) -> frozenset[str]:
    """Return the public key in the folder *keys*, or beside the ledger; nothing if none is there.

    A folder that was named must have one.
    """
    if keys is not None:
        return frozenset({open_signer(keys).public_key})
    try:
        return frozenset({open_signer(keys_beside(address)).public_key})
    except (AddressInvalid, KeyUnusable):
        return frozenset()


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a ledger raises into a message for a person."""
    try:
        yield
    except LedgerError as error:
        raise click.ClickException(str(error)) from error


def masks_at(keys: Path | None, address: str) -> Masks | None:
    """Return what hidden values can be compared with; none where nobody named any.

    A folder that was named and has no such keys ends the command: to go on without them would call
    unknown what the person thinks is compared.
    """
    if keys is not None:
        with sentences():
            return open_masks(keys)
    if is_postgres(address):
        return None
    try:
        with sentences():
            beside = keys_beside(address)
        return open_masks(beside)
    except KeyUnusable:
        return None


def cluster_of(ledger: Ledger, named: str | None) -> str:
    """Return the cluster that was *named*, or the only one: another one's name would be wrong."""
    if named:
        return named
    known = clusters_in(ledger)
    if len(known) > 1:
        raise click.UsageError(f"name one of the clusters with --cluster: {', '.join(known)}")
    return next(iter(known), "")


def counted(number: int, noun: str) -> str:
    """Return *number* of what *noun* names: `1 record`, `1,200 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
