"""`glasswarden ledger fsck`: whether the ledger is what its writers left.

How far a long command has come, for somebody who waits at a terminal; silent otherwise.
"""

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
    counted,
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
    """One line on the standard error, written over and over."""

    def __init__(self, *, is_shown: bool = True) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()
        self._begun = self._told = time.monotonic()

    def tell(self, done: int, what: str, rest: str = "") -> None:
        """Say that *done* of *what* are done, not more often than anybody reads."""
        now = time.monotonic()
        if self._is_shown and now - self._told >= EVERY_SECONDS:
            self._told = now
            rate = done / (now - self._begun)
            click.echo(f"\r\x1b[K{done:,} {what}{rest}, {rate:,.0f}/s", err=True, nl=False)

    def clear(self) -> None:
        """Make room for something that stays."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)


SAVE_SECONDS: Final = 10
"""What a run that is killed has to do again."""


class CannotLook(click.ClickException):
    """Nothing can be said about the ledger."""

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
@click.option("--since", type=MOMENT, help="Verify only what is younger: 2d, 12h, or a date.")
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

    Exit code 0: nothing was found. 1: something was. 2: the ledger could not be looked at.
    """
    if since is not None and file is not None:
        raise click.UsageError("--since looks at a part only; --resume would forget the rest")
    printer = Printer(form, is_quiet=quiet)
    with (
        _sentences(),
        existing(address) as ledger,
        closing(read_logs(audit_logs)) as log,
    ):
        if audit_logs and not log.events:
            broken = counted(log.broken, "broken line")
            raise CannotLook(f"the audit log has no finished request to compare with; {broken}")
        state = read_state(file) if file else State()
        trust = Trust(_trusted(public_keys, keys, state, address) or None)
        saver = Saver(file, trust)
        run = Fsck(ledger, trust, state.places, since, lambda tally: _tick(printer, saver, tally))
        for finding in _findings(run, ledger, log, audit_lag, cluster, since):
            printer.finding(finding)
        saver.save(run.tally)
        printer.end(run.tally, log if audit_logs else None, trust)
    ctx.exit(1 if printer.findings else 0)


def _trusted(
    public_keys: Sequence[str], keys: Path | None, state: State, address: str
) -> frozenset[str]:
    """Return whose signatures count: as was said now, or last time, or by the key at hand."""
    if public_keys:
        return frozenset(public_keys)
    if keys is None and state.keys:
        return state.keys
    return own_key(keys, address)


def _findings(
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


def _tick(printer: "Printer", saver: "Saver", tally: Tally) -> None:
    printer.progress(tally)
    saver.tick(tally)


@contextmanager
def _sentences() -> Iterator[None]:
    """Say what keeps us from looking, with the exit code that is for it."""
    try:
        yield
    except LedgerError as error:
        raise CannotLook(str(error)) from error


class Saver:
    """Keeps the state of a run that resumes; does nothing for others."""

    def __init__(self, file: Path | None, trust: Trust) -> None:
        self._file = file
        self._trust = trust
        self._saved = time.monotonic()

    def tick(self, tally: Tally) -> None:
        """Save now and then."""
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            self.save(tally)

    def save(self, tally: Tally) -> None:
        """Save now."""
        if self._file is not None:
            write_state(self._file, State(tally.places, self._trust.keys or tally.keys))
            self._saved = time.monotonic()


class Printer:
    """Tells people in sentences, and programs in JSON: a line a finding, then one that sums up."""

    def __init__(self, form: str, *, is_quiet: bool) -> None:
        self.findings = 0
        self._is_json = form == "json"
        self._is_quiet = is_quiet
        self._progress = Progress(is_shown=not is_quiet)

    def progress(self, tally: Tally) -> None:
        """Tell somebody who waits."""
        of = f" in {tally.done} of {tally.chains} chains"
        self._progress.tell(tally.records, "records", of)

    def finding(self, finding: Finding) -> None:
        """Print *finding*."""
        self.findings += 1
        self._progress.clear()
        if self._is_json:
            told = msgspec.to_builtins(finding) | {"sentence": finding.sentence}
            click.echo(json.dumps(told))  # which takes any text, even what is no UTF-8
        else:
            click.echo(escape_unprintable(str(finding)))

    def end(self, tally: Tally, log: AuditLog | None, trust: Trust) -> None:
        """Print what was looked at."""
        self._progress.clear()
        if self._is_quiet:
            return
        if self._is_json:
            click.echo(msgspec.json.encode({"summary": self._summary(tally, log, trust)}))
        else:
            click.echo("\n".join(self._sentences(tally, log, trust)))

    def _summary(self, tally: Tally, log: AuditLog | None, trust: Trust) -> dict[str, object]:
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

    def _sentences(self, tally: Tally, log: AuditLog | None, trust: Trust) -> Sequence[str]:
        alive = tally.chains - tally.closed
        chains = counted(tally.chains, "chain")
        ends = f"({tally.closed:,} closed, {alive:,} open or killed)"
        verdict = counted(self.findings, "finding") if self.findings else "clean"
        told = [f"{verdict}: {counted(tally.records, 'record')} in {chains} {ends}"]
        if tally.later:
            later = counted(tally.later, "record")
            told.append(f"{later} of a later version; only that one can verify all of them")
        if log is not None:
            broken = counted(log.broken, "broken line")
            told.append(f"audit log: {counted(log.events, 'event')}, {broken}")
            if log.events:
                told[-1] += f", from {log.since} to {log.until}"
        if trust.keys is None:
            told += [f"signed by {key}" for key in sorted(tally.keys)]
            told.append("No key was given: these are trusted as found. Compare them, or give")
            told.append("--public-key; a stranger's chain would look no different.")
        return told
