"""The options that name evidence, and how commands open it.

Commands about the past name a ledger, an audit log, live state and Git by the same options, and
open them with `evidence_from`. What is wrong with one of them ends the command with a sentence.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import parse_address
from correlator.declared.render import Release, read_plain
from correlator.inspection.evidence import (
    ClusterNotNamed,
    Evidence,
    EvidenceOptions,
    GitFolder,
    cluster_in,
    open_evidence,
)
from glasswarden.audit.files import PATTERN
from glasswarden.cli.options import MOMENT, KindUnknown, kind_of, read_policy
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.chain import MaintenanceWriter, open_maintenance, open_signer
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable, LedgerError
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import keys_beside, open_ledger
from glasswarden.ledger.query import Question
from glasswarden.policy.policy import DEFAULT, Policy

PAGE: Final = 500
_NAMES: Final = ("ticket", "actor", "app", "cluster", "since", "until")
_FILE: Final = click.Path(dir_okay=False, path_type=Path)

Function = TypeVar("Function", bound=Callable[..., object])


def selection_options(function: Function) -> Function:
    """Give a command the options that select records; `question_of` reads them."""
    for option in reversed(
        (
            click.option("--ticket", metavar="ID", help="What was done under this ticket."),
            click.option("--actor", metavar="USER", help="What this person did."),
            click.option("--app", metavar="NAME", help="What was done to this application."),
            click.option("--cluster", metavar="NAME", help="What was done in this cluster."),
            click.option("--since", type=MOMENT, help="Not before: 7d, 2h, or a date."),
            click.option("--until", type=MOMENT, help="Not after."),
        )
    ):
        function = option(function)
    return function


def question_of(options: dict[str, Any], namespace: str) -> Question:
    """Take the question out of *options*; one that asks for everything ends the command."""
    chosen = {name: options.pop(name) for name in _NAMES} | {"namespace": namespace or None}
    if not any(chosen.values()):
        raise click.UsageError("name what it is about: --ticket, --since, --app, --actor, …")
    return Question(**chosen, limit=PAGE)


def git_options(function: Function) -> Function:
    """Give a command the options for Git's files; `git_folder` takes them."""
    options = (
        click.option(
            "--git",
            default="",
            metavar="DIR|URL[@REV]",
            help="What is declared: a folder as it is, or a repository at a revision.",
        ),
        click.option("--path", default="", metavar="PATH", help="The folder in --git."),
        click.option(
            "--values", multiple=True, type=_FILE, help="Values for a Helm chart; may be repeated."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def git_folder(
    git: str, path: str, values: tuple[Path, ...], app: str | None, namespace: str
) -> GitFolder | None:
    """Return the folder that the options name, and the release that a chart is rendered as."""
    if not git:
        return None
    release = Release(app or "", namespace, tuple(file.absolute() for file in values))
    return GitFolder(parse_address(git), path, release)


def policy_option(help_text: str) -> Callable[[Function], Function]:
    """Give a command the option of the policy, as `policy_file`; *help_text* is its purpose."""
    return click.option(
        "--policy", "policy_file", envvar="GLASSWARDEN_POLICY", type=_FILE, help=help_text
    )


def policy_in(file: Path | None) -> Policy:
    """Return the policy in *file*, the built-in one without it; or end with its mistake."""
    return read_policy(file) if file else DEFAULT


@contextmanager
def evidence_from(options: EvidenceOptions) -> Iterator[Evidence]:
    """Open what *options* name; what is wrong with it ends the command with a sentence."""
    with sentences(), ExitStack() as opened:
        with _audit_progress(options.audit_logs) as update:
            named = replace(options, on_audit_progress=update)
            evidence = opened.enter_context(open_evidence(named))
        yield evidence


@contextmanager
def _audit_progress(files: tuple[Path, ...]) -> Iterator[Callable[[int], None]]:
    """Show a person how far reading the audit log is."""
    size = sum(file.stat().st_size for file in files)
    hidden = not files or not sys.stderr.isatty()
    with click.progressbar(length=size, label="Audit log", file=sys.stderr, hidden=hidden) as bar:
        yield bar.update


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


live_option = click.option(
    "--live",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Objects taken with `kubectl get -o yaml --show-managed-fields`, instead of a cluster.",
)


class Snapshot:
    """The objects in a folder, by the words that kubectl takes."""

    def __init__(self, folder: Path) -> None:
        """Read *folder*, or end with why it cannot be read."""
        try:
            found = read_plain(folder)
        except DeclaredUnreadable as error:
            raise click.ClickException(str(error)) from error
        self._objects = [each.manifest for each in found.objects]
        self._folder = folder

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
    """Give a command the option of its ledger, as `address`."""
    return click.option(
        "--ledger",
        "address",
        required=True,
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def optional_ledger_option(function: Function) -> Function:
    """Give a command the option of a ledger that it can do without, as `ledger`."""
    return click.option(
        "--ledger",
        "ledger",
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def keys_option(function: Function) -> Function:
    """Give a command the option of the folder with the ledger's keys, as `keys`."""
    return click.option(
        "--keys",
        envvar="GLASSWARDEN_KEYS",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder with the ledger's keys; beside an SQLite ledger where it is not given.",
    )(function)


def public_key_option(function: Function) -> Function:
    """Give a command the option of the keys whose signatures count, as `public_keys`."""
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
    """Open the ledger at *address* if there is one: a mistyped path must not create a new one.

    What it raises is a `LedgerError`, for the command to print.
    """
    with closing(open_ledger(address, create=False)) as ledger:
        yield ledger


@contextmanager
def acting(
    ledger: Ledger, address: str, keys: Path | None, now: datetime
) -> Iterator[MaintenanceWriter]:
    """Let a command leave signed records of what it does with *ledger*."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    signer = open_signer(keys_folder(keys, address))
    with open_maintenance(ledger, writer, signer, now) as maintenance:
        yield maintenance


@contextmanager
def open_ledger_at(address: str, *, to_fill: bool = False) -> Iterator[Ledger]:
    """Open the ledger at *address*; what is wrong with it ends the command with a sentence.

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
    except ClusterNotNamed as error:
        raise click.UsageError(str(error)) from error
    except LedgerError as error:
        raise click.ClickException(str(error)) from error


def cluster_of(ledger: Ledger, named: str | None) -> str:
    """Return the cluster that was *named*, or the only one; or end with the names of several."""
    with sentences():
        return cluster_in(ledger, named or "")


def count_text(number: int, noun: str) -> str:
    """Return *number* of what *noun* names: `1 record`, `1,200 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
