"""`--audit-log`: the API server's audit log, for whatever can use it as a witness."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from correlator.audit.log import AuditLog, read_log
from glasswarden.audit.tail import PATTERN
from glasswarden.policy.policy import Policy


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
