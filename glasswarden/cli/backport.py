"""`glasswarden backport`: a patch for Git that declares what was changed by hand."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

from correlator.backport.choose import Selection, chosen_of, namespace_of
from correlator.backport.errors import CannotPlace, RepositoryUnusable
from correlator.backport.model import Tree, join_paths
from correlator.backport.output import (
    Repository,
    commit_message,
    find_repository,
    render_outcome,
    render_patch,
)
from correlator.backport.place import Outcome, RenderSource, place_all
from correlator.backport.working_copy import WorkingCopy, open_copy
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address, parse_address
from correlator.declared.render import Release
from correlator.inspection.evidence import EvidenceOptions
from correlator.report.assemble import scope_of
from correlator.report.compose import ReportContext, compose_report
from glasswarden.cli.evidence import (
    evidence_from,
    keys_option,
    ledger_option,
    live_option,
    policy_in,
    policy_option,
    question_of,
    selection_options,
)
from glasswarden.cli.options import Connection, connection_options, now
from glasswarden.ledger.query import Question
from glasswarden.terminal import escape_unprintable

_FILE = click.Path(dir_okay=False, path_type=Path)

EXIT_UNPLACED = 1
"""Something is live that the patch does not declare."""


class CannotWork(click.ClickException):
    """Nothing could be tried."""

    exit_code = 2


class NothingRecorded(click.ClickException):
    """Nobody did such a thing, as far as the ledger knows."""

    exit_code = 0

    def __init__(self) -> None:
        super().__init__("No record answers this.")

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message; it is no error."""
        click.echo(self.message, file=file, err=file is None)


@dataclass(frozen=True, slots=True)
class Work:
    """What to write back, and where to."""

    repository: Repository
    revision: str
    """The commit to start from; empty for the files as they lie there."""
    path: str
    values: tuple[Path, ...]
    app: str
    namespace: str
    prune: bool

    def apply(self, chosen: Selection) -> Outcome:
        """Return the files with what was chosen, and what could not be placed."""
        with open_copy(self.repository.root, self.revision) as root:
            folder = join_paths(self.repository.folder, self.path)
            inside = tuple(filter(None, map(self._inside, self.values)))
            release = Release(
                self.app, self.namespace or namespace_of(chosen.wanted), self._values_in(root)
            )
            workshop = WorkingCopy(root, folder, release)
            place = RenderSource(folder, inside, self.prune)
            outcome = place_all(chosen.wanted, workshop.tree, place, workshop.render)
            for each in workshop.incomplete:
                _print_note(f"Not read: {each.what}: {each.why}")
        return Outcome(
            outcome.tree,
            outcome.placed,
            (*outcome.unplaced, *chosen.unplaced),
            outcome.already,
        )

    def _values_in(self, root: Path) -> tuple[Path, ...]:
        """Return the files with values, those of the repository in the copy at *root*."""
        return tuple(
            root / inside if (inside := self._inside(file)) else file for file in self.values
        )

    def _inside(self, file: Path) -> str:
        try:
            return file.resolve().relative_to(self.repository.root.resolve()).as_posix()
        except ValueError:
            return ""


@click.command("backport")
@ledger_option
@keys_option
@selection_options
@click.option("--repo", required=True, metavar="DIR[@REV]", help="The Git repository, or a folder.")
@click.option("--path", default="", metavar="PATH", help="The folder inside of it.")
@click.option("--values", multiple=True, type=_FILE, help="Values for a Helm chart; repeatable.")
@click.option("--branch", metavar="NAME", help="Commit onto this new branch; print no patch.")
@click.option("--dry-run", is_flag=True, help="With --branch: print the patch, commit nothing.")
@click.option("--prune", is_flag=True, help="Delete from Git what was deleted by hand.")
@click.option(
    "-o", "--output", type=_FILE, help="A file for the patch; the standard output without it."
)
@policy_option("The policy, for the values that it hides; those of Secrets always are.")
@live_option
@connection_options(asks_ledger=True, namespace="What was done in it.")
def command(
    *,
    address: str,
    keys: Path | None,
    repo: str,
    path: str,
    values: tuple[Path, ...],
    branch: str | None,
    dry_run: bool,
    prune: bool,
    output: Path | None,
    policy_file: Path | None,
    folder: Path | None,
    connection: Connection,
    **options: Any,  # noqa: ANN401 - which records
) -> None:
    """Write back into Git what was changed by hand and is to stay.

    \b
      glasswarden backport --ticket INC-42 --repo . --path deploy/prod | git apply
      glasswarden backport --ticket INC-42 --repo . --path deploy/prod --branch inc-42

    Takes the fields that the records name and that are still live, and edits the files that
    declare them: plain manifests, Kustomize overlays, a chart's values. Every edit is rendered
    again with the real kustomize or helm; one that does not give exactly the live value is taken
    back. Values of Secrets are never written. What could not be placed is printed to the standard
    error, with the reason.

    Exits with 0, with 1 if something could not be placed, and with 2 if nothing could be tried.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    with _exit_on_errors():
        question = question_of(options, connection.namespace)
        work = _work(parse_address(repo), path, values, branch, prune=prune, question=question)
        named = EvidenceOptions(
            policy=policy_in(policy_file),
            ledger=address,
            keys=keys,
            is_any_cluster=True,
            live_folder=folder,
            connect=lambda: connection.api_server("glasswarden-backport"),
        )
        chosen = _select_changes(named, question)
        outcome = work.apply(chosen) if chosen.wanted else _nothing(chosen)
        for line in render_outcome(outcome, chosen.gone):
            click.echo(line, err=True)
        if branch and not dry_run:
            _commit(work, branch, outcome)
        else:
            _write(render_patch(outcome.tree.changed), output)
    if outcome.unplaced:
        sys.exit(EXIT_UNPLACED)


def _work(
    address: Address,
    path: str,
    values: tuple[Path, ...],
    branch: str | None,
    *,
    prune: bool,
    question: Question,
) -> Work:
    if address.is_remote:
        raise RepositoryUnusable("a patch needs a clone: give its folder")
    repository = find_repository(Path(address.place))
    revision = address.revision
    if branch:
        repository.check_branch(branch)
        revision = revision or "HEAD"
    commit = repository.commit_at(revision) if revision else ""
    app, namespace = question.app or "", question.namespace or ""
    return Work(repository, commit, path, values, app, namespace, prune)


def _select_changes(named: EvidenceOptions, question: Question) -> Selection:
    """Return what was recorded and is still live."""
    with evidence_from(named) as evidence:
        attempts = evidence.attempts(question)
        clusters = sorted({attempt.cluster for attempt in attempts})
        if len(clusters) > 1:
            names = ", ".join(map(escape_unprintable, clusters))
            raise click.UsageError(f"name one of the clusters with --cluster: {names}")
        if not attempts:
            raise NothingRecorded
        around = ReportContext(check_field=evidence.live_states())
        report = compose_report(scope_of(question), attempts, around, now())
        chosen = chosen_of(report, evidence.look_up, evidence.policy)
        for each in evidence.incomplete:
            _print_note(f"{each.what}: {each.why}")
    return chosen


def _nothing(chosen: Selection) -> Outcome:
    return Outcome(Tree({}), unplaced=chosen.unplaced)


def _commit(work: Work, branch: str, outcome: Outcome) -> None:
    changed = {path: new for path, (_, new) in outcome.tree.changed.items()}
    if not changed:
        _print_note("Nothing was committed.")
        return
    message = commit_message(outcome.placed)
    commit = work.repository.commit(work.revision, branch, changed, message)
    click.echo(f"Committed {commit[:12]} on {branch}: git log -p -1 {branch}", err=True)


def _write(patch: str, output: Path | None) -> None:
    if output is None:
        # As bytes: a file's line endings are part of the patch.
        sys.stdout.buffer.write(patch.encode())
        return
    try:
        output.write_bytes(patch.encode())
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    _print_note(f"Wrote {output}")


def _print_note(text: str) -> None:
    click.echo(escape_unprintable(text), err=True)


@contextmanager
def _exit_on_errors() -> Iterator[None]:
    """End with a sentence where nothing can be tried."""
    try:
        yield
    except (DeclaredUnreadable, RepositoryUnusable, CannotPlace) as error:
        raise CannotWork(escape_unprintable(str(error))) from error
