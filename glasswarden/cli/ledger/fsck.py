"""`glasswarden ledger fsck`: verifies the ledger, and shows the progress on a terminal."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click
import msgspec

from glasswarden.cli.evidence import (
    audit_log_option,
    count_text,
    existing,
    keys_option,
    ledger_option,
    own_key,
    public_key_option,
)
from glasswarden.cli.options import DURATION, MOMENT
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.fsck.findings import Finding
from glasswarden.ledger.fsck.run import Fsck, State, Tally, read_state, write_state
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.fsck.witness import AuditLog, compare_with_log, read_logs
from glasswarden.ledger.ledger import Ledger
from glasswarden.terminal import escape_unprintable

EVERY_SECONDS: Final = 0.2


class Progress:
    """One line on the standard error, which is rewritten."""

    def __init__(self, *, is_shown: bool = True) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._begun = self._told = time.monotonic()

    def show(self, done: int, what: str, rest: str = "") -> None:
        """Show that *done* of *what* are done, a few times a second at most."""
        now = time.monotonic()
        if self._is_shown and now - self._told >= EVERY_SECONDS:
            self._told = now
            rate = done / (now - self._begun)
            click.echo(f"\r\x1b[K{done:,} {what}{rest}, {rate:,.0f}/s", err=True, nl=False)

    def clear(self) -> None:
        """Remove the line, so that permanent output can follow."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)


SAVE_SECONDS: Final = 10
"""Seconds between two saves: what a killed run has to repeat."""


class CannotVerify(click.ClickException):
    """The ledger cannot be verified."""

    exit_code = 2


@click.command("fsck")
@ledger_option
@public_key_option
@keys_option
@audit_log_option
@click.option(
    "--audit-lag",
    type=DURATION,
    default="60s",
    show_default=True,
    help="How far inside the log's time a record must be to be missed in it.",
)
@click.option("--cluster", default="", help="The cluster that the audit log is of; else any.")
@click.option("--since", type=MOMENT, help="Verify only what is newer: 2d, 12h, or a date.")
@click.option(
    "--resume",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Begin where the last run with this file ended, and remember where this one does.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option("--quiet", is_flag=True, help="Print findings only.")
@click.pass_context
def command(
    ctx: click.Context,
    address: str,
    public_keys: tuple[str, ...],
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    audit_lag: timedelta,
    cluster: str,
    since: datetime | None,
    file: Path | None,
    form: str,
    quiet: bool,  # noqa: FBT001 - click hands it over by name
) -> None:
    """Verify that nothing recorded was edited, removed, reordered, forged or cut off.

    Signatures count by --public-key; else by the key in --keys, by what --resume remembers, or by
    the key beside an SQLite ledger.

    Exit code 0: nothing was found. 1: something was. 2: the ledger could not be read.
    """
    if since is not None and file is not None:
        raise click.UsageError("--since verifies a part only; --resume would forget the rest")
    printer = Printer(form, is_quiet=quiet)
    with (
        _report_errors(),
        existing(address) as ledger,
        closing(read_logs(audit_logs)) as log,
    ):
        if audit_logs and not log.events:
            broken = count_text(log.broken, "broken line")
            raise CannotVerify(f"the audit log has no finished request to compare with; {broken}")
        state = read_state(file) if file else State()
        trust = Trust(_trusted_keys(public_keys, keys, state, address) or None)
        saver = Saver(file, trust)
        run = Fsck(
            ledger,
            trust,
            state.places,
            since,
            lambda tally: _report_progress(printer, saver, tally),
        )
        for finding in _find_faults(run, ledger, log, audit_lag, cluster, since):
            printer.print_finding(finding)
        saver.save(run.tally)
        printer.end(run.tally, log if audit_logs else None, trust)
    ctx.exit(1 if printer.findings else 0)


def _trusted_keys(
    public_keys: Sequence[str], keys: Path | None, state: State, address: str
) -> frozenset[str]:
    """Return the trusted keys: as given, as of the last run, or the ledger's own key."""
    if public_keys:
        return frozenset(public_keys)
    if keys is None and state.keys:
        return state.keys
    return own_key(keys, address)


def _find_faults(
    run: Fsck,
    ledger: Ledger,
    log: AuditLog,
    lag: timedelta,
    cluster: str,
    since: datetime | None,
) -> Iterator[Finding]:
    yield from run.find_faults()
    if log.events:
        yield from compare_with_log(ledger, log, run.testimony, lag, cluster, since)


def _report_progress(printer: "Printer", saver: "Saver", tally: Tally) -> None:
    printer.show_progress(tally)
    saver.save_sometimes(tally)


@contextmanager
def _report_errors() -> Iterator[None]:
    """Report why the ledger cannot be verified, with exit code 2."""
    try:
        yield
    except LedgerError as error:
        raise CannotVerify(str(error)) from error


class Saver:
    """Keeps the state of a run that resumes; does nothing for others."""

    def __init__(self, file: Path | None, trust: Trust) -> None:
        self._file = file
        self._trust = trust
        self._saved = time.monotonic()

    def save_sometimes(self, tally: Tally) -> None:
        """Save at intervals."""
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            self.save(tally)

    def save(self, tally: Tally) -> None:
        """Save now."""
        if self._file is not None:
            write_state(self._file, State(tally.places, self._trust.keys or tally.keys))
            self._saved = time.monotonic()


class Printer:
    """Prints sentences for people, or JSON for programs: a line per finding, then a summary."""

    def __init__(self, form: str, *, is_quiet: bool) -> None:
        self.findings = 0
        self._is_json = form == "json"
        self._is_quiet = is_quiet
        self._progress = Progress(is_shown=not is_quiet)

    def show_progress(self, tally: Tally) -> None:
        """Show the progress."""
        of = f" in {tally.done} of {tally.chains} chains"
        self._progress.show(tally.records, "records", of)

    def print_finding(self, finding: Finding) -> None:
        """Print *finding*."""
        self.findings += 1
        self._progress.clear()
        if self._is_json:
            document = msgspec.to_builtins(finding) | {"sentence": finding.sentence}
            click.echo(json.dumps(document))  # which accepts any text, even invalid UTF-8
        else:
            click.echo(escape_unprintable(str(finding)))

    def end(self, tally: Tally, log: AuditLog | None, trust: Trust) -> None:
        """Print what was verified."""
        self._progress.clear()
        if self._is_quiet:
            return
        if self._is_json:
            click.echo(msgspec.json.encode({"summary": self._summary_of(tally, log, trust)}))
        else:
            click.echo("\n".join(self._render_summary(tally, log, trust)))

    def _summary_of(self, tally: Tally, log: AuditLog | None, trust: Trust) -> dict[str, object]:
        summary: dict[str, object] = {
            "findings": self.findings,
            "records": tally.records,
            "chains": tally.chains,
            "closed": tally.closed,
            "later": tally.later,
            "keys": sorted(tally.keys),
            "keys_checked": trust.keys is not None,
        }
        if log is not None:
            summary["audit_log"] = {
                "events": log.events,
                "broken": log.broken,
                "since": log.since,
                "until": log.until,
            }
        return summary

    def _render_summary(self, tally: Tally, log: AuditLog | None, trust: Trust) -> Sequence[str]:
        alive = tally.chains - tally.closed
        chains = count_text(tally.chains, "chain")
        ends = f"({tally.closed:,} closed, {alive:,} open or killed)"
        verdict = count_text(self.findings, "finding") if self.findings else "clean"
        lines = [f"{verdict}: {count_text(tally.records, 'record')} in {chains} {ends}"]
        if tally.later:
            later = count_text(tally.later, "record")
            lines.append(f"{later} of a later version; only that one can verify all of them")
        if log is not None:
            broken = count_text(log.broken, "broken line")
            lines.append(f"audit log: {count_text(log.events, 'event')}, {broken}")
            if log.events:
                lines[-1] += f", from {log.since} to {log.until}"
        if trust.keys is None:
            lines += [f"signed by {key}" for key in sorted(tally.keys)]
            lines.append("No key was given: these are trusted as found. Compare them, or give")
            lines.append("--public-key; a chain that somebody forged would look the same.")
        return lines
