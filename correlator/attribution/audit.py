"""The writer of a field that no record explains, by the audit log of the API server.

The writes to an object, newest first, are its history backwards. The first write to the field
decides. It is attributed to an actor only if the log proves all of this: the request contains the
field and agrees with its live value; managedFields make the entry of the writer, at that very
second, the sole owner of the field, as only a write that changes a field does; and the field had
another value before, unless the request was a patch, which contains only what it changes. If the
audit level omits one of these, the write is reported without an actor: a wrong name is worse than
none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from typing import Final

from correlator.attribution.context import SCALE, Act, AuditedWrite, Drifted, Way
from correlator.attribution.evidence import is_same_value, last_write_time, time_of
from glasswarden.kube.compare import ABSENT, Value, value_after, value_at
from glasswarden.kube.managed_fields import Entry, entries_of, owners_at
from glasswarden.kube.paths import REPLICAS, ROOT, Key, Path, Step
from glasswarden.ledger.record import Attempt


@dataclass(frozen=True, slots=True)
class Account:
    """The write that made a field what it is."""

    write: AuditedWrite
    proven: bool
    """Whether the log shows that it did; otherwise it may have, and has no name."""

    @property
    def why(self) -> str:
        """Why no record explains the field."""
        told = _WAYS[self.write.way].format(f"{self.write.received.astimezone(UTC):%F %T} UTC")
        if not self.proven:
            return f"perhaps {told}; the audit log does not show what that write set"
        origin = f", from {self.write.source}" if self.write.source else ""
        return f"{told}: {self.write.actor}{origin}"


_WAYS: Final = {
    Way.RECORDED: "written at {}, as recorded",
    Way.EMERGENCY: "bypassed by the emergency group at {}",
    Way.FAILED_OPEN: "the webhook failed open at {}",
    Way.TRUSTED: "written at {} by one who is not asked",
    Way.UNRECORDED: "written at {} without a record",
}


class _Touch(StrEnum):
    """Whether a write gave the field its live value."""

    NO = "no"
    YES = "yes"
    PERHAPS = "perhaps"
    NO_LONGER = "no longer"
    """It left another value, and what changed that is not in the log."""


def account_of(drifted: Drifted, writes: Sequence[AuditedWrite]) -> Account | None:
    """Return the write that made *drifted* what it is; *writes* are its object's, newest first.

    None where the log has no such write, or does not prove that it is one that was recorded.
    """
    if not drifted.ref.uid:
        return _account_of_deletion(drifted, writes)
    own = [write for write in writes if write.uid in ("", drifted.ref.uid)]
    for index, write in enumerate(own):
        touch = _judge_write(write, own[index + 1 :], drifted)
        if touch is _Touch.NO_LONGER:
            return None
        if touch is not _Touch.NO:
            return _new_account(write, proven=touch is _Touch.YES)
    return None


def is_last(record: Attempt, writes: Sequence[AuditedWrite], entries: Sequence[Entry]) -> bool:
    """Return whether the log has *record*, and since then only what is on record, or in *entries*.

    Those are the live managedFields, each known to have changed nothing since: a reconciler that
    repeats itself is among them.
    """
    idle = {entry.manager for entry in entries}
    for write in writes:
        if record.id in write.records:
            return True
        is_repeated = write.way is Way.TRUSTED and write.manager in idle
        if write.way is not Way.RECORDED and not is_repeated:
            return False
    return False


def _account_of_deletion(drifted: Drifted, writes: Sequence[AuditedWrite]) -> Account | None:
    """Return the deletion of an object that is gone: nothing can have been written to it since."""
    last = next((write for write in writes if not write.subresource), None)
    if drifted.path != ROOT or last is None or last.act is not Act.DELETE:
        return None
    return _new_account(last, proven=True)


def _new_account(write: AuditedWrite, *, proven: bool) -> Account | None:
    return Account(write, proven) if proven or write.way is not Way.RECORDED else None


def _judge_write(write: AuditedWrite, earlier: Sequence[AuditedWrite], drifted: Drifted) -> _Touch:
    if write.act is Act.DELETE or not _is_about_field(write, drifted.path):
        return _Touch.NO
    if drifted.path == ROOT:
        return _judge_creation(write)
    after = _value_after_write(write, drifted.path)
    if after is None:
        return _judge_without_response(write, drifted)
    if not is_same_value(after.value, drifted.live):
        return _Touch.NO_LONGER
    if write.act is Act.CREATE:
        return _Touch.YES
    before = _value_before_write(earlier, drifted.path)
    if before is None:
        return _judge_first_logged(write, drifted)
    if is_same_value(before.value, drifted.live):
        return _Touch.NO
    if drifted.live is ABSENT:
        return _Touch.YES if is_removed_by_request(write.sent, drifted.path) else _Touch.PERHAPS
    return _Touch.YES if _is_set_by(write, drifted) else _Touch.PERHAPS


def _is_about_field(write: AuditedWrite, path: Path) -> bool:
    return not write.subresource or (write.subresource == SCALE and path == REPLICAS)


def _judge_creation(write: AuditedWrite) -> _Touch:
    """Return whether *write* made the object: its uid says that it is this one."""
    if write.act is not Act.CREATE:
        return _Touch.NO
    return _Touch.YES if write.uid else _Touch.PERHAPS


@dataclass(frozen=True, slots=True)
class _LoggedValue:
    """A value that the log shows, or that nothing stood there."""

    value: Value


def _value_after_write(write: AuditedWrite, path: Path) -> _LoggedValue | None:
    """Return what stood at *path* after *write*, nothing where the log does not show it."""
    return None if write.after is None else _LoggedValue(value_at(write.after, path))


def _value_before_write(earlier: Sequence[AuditedWrite], path: Path) -> _LoggedValue | None:
    """Return what stood at *path* after the last of *earlier*, newest first, that is about it."""
    last = next((write for write in earlier if _is_about_field(write, path)), None)
    return None if last is None or last.act is Act.DELETE else _value_after_write(last, path)


def _judge_first_logged(write: AuditedWrite, drifted: Drifted) -> _Touch:
    """Judge a write before which the log does not show the object.

    Whoever applies or replaces a whole object repeats what was there: only a patch proves anything.
    """
    if (
        write.act is Act.PATCH
        and drifted.live is not ABSENT
        and _is_set_by(write, drifted, "Update")
    ):
        return _Touch.YES
    return _judge_by_time(write, drifted)


def _judge_without_response(write: AuditedWrite, drifted: Drifted) -> _Touch:
    """Judge a write whose outcome the log does not show."""
    written = last_write_time(drifted.holders)
    if written is not None and written < write.received.replace(microsecond=0):
        return _Touch.NO  # it would hold the field since then
    if write.act is Act.PATCH and drifted.live is not ABSENT:
        if _is_patch_elsewhere(write.sent, drifted.path):
            return _Touch.NO
        if _is_set_by(write, drifted, "Update"):
            return _Touch.YES
    return _judge_by_time(write, drifted)


def _judge_by_time(write: AuditedWrite, drifted: Drifted) -> _Touch:
    """Judge by whether managedFields put the field down to just then."""
    written = last_write_time(drifted.holders)
    if write.subresource == SCALE:
        is_then = any(_has_manager_of(entry, write) for entry in drifted.holders)
    else:
        is_then = written is not None and write.covers(written)
    return _Touch.PERHAPS if is_then else _Touch.NO_LONGER


def _is_set_by(write: AuditedWrite, drifted: Drifted, operation: str = "") -> bool:
    """Return whether *write* speaks of the field's live value, and alone owns the field since.

    *operation* narrows how it must own it, for a write of which nothing earlier is known.
    """
    if not is_set_by_request(write.sent, drifted.path, drifted.live):
        return False
    if operation and isinstance(write.sent, list) and not all(map(_is_key, drifted.path.steps)):
        return False  # a JSON Patch numbers the items of a list: it may mean another one
    # A Scale has no managedFields; and where the answer is not shown, the live ones must do.
    shown = write.after is not None and not write.subresource
    entries = entries_of(write.after) if shown else drifted.holders
    owners = owners_at(entries, drifted.path) if shown else entries
    if len(owners) != 1 or not _has_manager_of(owners[0], write):
        return False
    if write.subresource == SCALE:
        return not operation  # its entry has no time, so what was before must be known
    wrote = time_of(owners[0])
    return wrote is not None and write.covers(wrote) and operation in ("", owners[0].operation)


def _has_manager_of(entry: Entry, write: AuditedWrite) -> bool:
    return entry.manager == write.manager and entry.subresource == write.subresource


def _is_key(step: Step) -> bool:
    return isinstance(step, Key)


def _is_patch_elsewhere(sent: Value, path: Path) -> bool:
    """Return whether a patch surely leaves *path*, where something stands, alone."""
    if isinstance(sent, list):
        return not any(_is_about(each, path) for each in sent)
    value, is_merged = sent, False
    for step in path.steps:
        if isinstance(value, dict) and isinstance(step, Key) and "$patch" not in value:
            # kubectl says in what order the items shall stand of a list that it merges.
            is_merged = f"$setElementOrder/{step.name}" in value
        elif not (isinstance(value, list) and is_merged):
            return False  # set as a whole, or a list that may be replaced
        value = value_after(value, (step,))
        if value is ABSENT:
            return True
    return False


def is_set_by_request(sent: Value, path: Path, live: Value) -> bool:
    """Return whether a request speaks of *path*, and all that it says about it is so in *live*."""
    if isinstance(sent, list):
        return any(_is_set_by_operation(each, path, live) for each in sent if _is_about(each, path))
    said = value_at(sent, path)
    return said is not ABSENT and said is not None and _is_consistent(said, live)


def _is_set_by_operation(operation: dict[str, Value], path: Path, live: Value) -> bool:
    depth = str(operation["path"]).count("/")
    if operation.get("op") not in ("add", "replace") or depth > len(path.steps):
        return False
    said = value_after(operation.get("value"), path.steps[depth:])
    return said is not ABSENT and _is_consistent(said, live)


def is_removed_by_request(sent: Value, path: Path) -> bool:
    """Return whether a request removes the value at *path* explicitly."""
    if isinstance(sent, list):
        return any(_is_about(each, path) and each.get("op") == "remove" for each in sent)
    value = sent
    for step in path.steps:
        value = value_after(value, (step,))
        if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            return True
    return False


def _is_consistent(said: Value, live: Value) -> bool:
    """Return whether *live* is what was *said*, apart from what was defaulted beside it."""
    if isinstance(said, dict) and isinstance(live, dict):
        told = {key: value for key, value in said.items() if not key.startswith("$")}
        return all(_is_consistent(value, live.get(key, ABSENT)) for key, value in told.items())
    if isinstance(said, list) and isinstance(live, list) and len(said) == len(live):
        return all(map(_is_consistent, said, live))
    return is_same_value(said, live)


def _is_about(operation: Value, path: Path) -> bool:
    """Return whether an operation of a JSON Patch may be about *path*, or what contains it.

    Where *path* names an item of a list, the pointer has its number, whatever that is.
    """
    pointer = operation.get("path") if isinstance(operation, dict) else None
    if not isinstance(pointer, str):
        return False
    names = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return all(
        not isinstance(step, Key) or step.name == name
        for name, step in zip(names, path.steps, strict=False)
    )
