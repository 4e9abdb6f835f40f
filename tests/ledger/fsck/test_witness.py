"""The audit log as the ledger's outside witness."""

import gzip
import json
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from glasswarden.ledger.chain import open_maintenance
from glasswarden.ledger.fsck.findings import Finding, RecordMissing, Unwitnessed, WitnessDiffers
from glasswarden.ledger.fsck.trust import collect_testimony
from glasswarden.ledger.fsck.witness import LogUnreadable, Witness, compare_with_log, read_logs
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt, Record
from glasswarden.ledger.retention import prune
from tests.ledger.builders import SIGNER, TIME, an_attempt
from tests.ledger.fsck.builders import TRUST, Intruder, Writer

HOUR = timedelta(hours=1)
LAG = timedelta(minutes=1)
GUARD = "guard.glasswarden.io"
ID = "019ca945-0a00-7000-8000-000000000001"


def an_event(time: datetime, witnessed: Record | None = None, **differing: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an audit event of *time* that names the record *witnessed*."""
    webhook = differing.pop("webhook", GUARD)
    annotations = {"authorization.k8s.io/decision": "allow"}
    if witnessed is not None:
        annotations[f"{webhook}/record"] = witnessed.entry.id
        annotations[f"{webhook}/chain"] = witnessed.digest
        annotations[f"{webhook}/{witnessed.entry.id}"] = witnessed.digest
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": f"audit-{time.isoformat()}",
        "stage": "ResponseComplete",
        "verb": "patch",
        "requestReceivedTimestamp": time.isoformat(),
        "stageTimestamp": (time + timedelta(milliseconds=5)).isoformat(),
        "annotations": annotations,
    } | differing


def around(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """Return *events* between two unrecorded ones, an hour before and after."""
    return [an_event(TIME - HOUR), *events, an_event(TIME + HOUR)]


def as_log(file: Path, events: Sequence[dict[str, Any] | str]) -> Path:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in events]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def found_with(
    ledger: Ledger, *files: Path, cluster: str = "", since: datetime | None = None
) -> list[Finding]:
    testimony = collect_testimony(ledger.signed_rows(), TRUST)
    with closing(read_logs(files)) as log:
        return list(compare_with_log(ledger, log, testimony, LAG, cluster, since))


def recorded(ledger: Ledger, *attempts: Attempt) -> list[Record]:
    """Return the records of *attempts*, without the chain's checkpoints."""
    return Writer(ledger, since=TIME - 2 * HOUR).writes(*attempts)[1:-1]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def test_records_with_matching_audit_events_have_no_findings(ledger: Ledger, log: Path) -> None:
    records = recorded(ledger, an_attempt(), an_attempt())
    as_log(log, around(*(an_event(each.entry.time, each) for each in records)))
    assert found_with(ledger, log) == []


@pytest.mark.parametrize("webhook", ["guard", "scale", "hold", "anything-else"])
def test_annotations_of_each_webhook_count_as_witness(
    ledger: Ledger, log: Path, webhook: str
) -> None:
    [record] = recorded(ledger, an_attempt())
    event = an_event(record.entry.time, record, webhook=f"{webhook}.glasswarden.io")
    assert found_with(ledger, as_log(log, around(event))) == []


def test_record_missing_from_the_audit_log_is_found(ledger: Ledger, log: Path) -> None:
    known, unknown = recorded(ledger, an_attempt(name="a"), an_attempt(name="b"))
    as_log(log, around(an_event(known.entry.time, known)))
    assert found_with(ledger, log) == [Unwitnessed(chain="one", sequence=3, id=unknown.entry.id)]


def test_record_known_only_to_the_audit_log_is_found(
    ledger: Ledger, intruder: Intruder, log: Path
) -> None:
    first, second = recorded(ledger, an_attempt(), an_attempt())
    event = an_event(second.entry.time, second)
    as_log(log, around(an_event(first.entry.time, first), event))
    intruder.run("DELETE FROM record WHERE sequence = 3")
    assert found_with(ledger, log) == [RecordMissing(id=second.entry.id, audit_id=event["auditID"])]


def test_record_that_differs_from_its_audit_event_is_found(ledger: Ledger, log: Path) -> None:
    [record] = recorded(ledger, an_attempt())
    event = an_event(record.entry.time, record)
    event["annotations"][f"{GUARD}/{record.entry.id}"] = "e" * 64
    assert found_with(ledger, as_log(log, around(event))) == [
        WitnessDiffers(chain="one", sequence=2, id=record.entry.id, audit_id=event["auditID"])
    ]


@pytest.mark.parametrize("hours", [0.5, 2, 26])
def test_clock_that_jumped_back_hides_no_record(
    ledger: Ledger, intruder: Intruder, log: Path, hours: float
) -> None:
    """The record is stamped long before its event, and before the log begins."""
    stamped = TIME - timedelta(hours=hours)
    [record] = Writer(ledger, since=TIME - 48 * HOUR).writes(an_attempt(time=stamped))[1:-1]
    event = an_event(TIME, record)
    as_log(log, [an_event(TIME - HOUR / 4), event, an_event(TIME + HOUR)])
    assert found_with(ledger, log) == []
    intruder.run("UPDATE record SET digest = ? WHERE sequence = 2", values=[bytes(32)])
    assert found_with(ledger, log) == [
        WitnessDiffers(chain="one", sequence=2, id=record.entry.id, audit_id=event["auditID"])
    ]
    intruder.run("DELETE FROM record WHERE sequence = 2")
    assert found_with(ledger, log) == [RecordMissing(id=record.entry.id, audit_id=event["auditID"])]


def test_one_audit_event_witnesses_every_try_of_its_write(ledger: Ledger, log: Path) -> None:
    first, second = recorded(ledger, an_attempt(), an_attempt())
    event = an_event(TIME, first)
    event["annotations"][f"{GUARD}/{second.entry.id}"] = second.digest
    assert found_with(ledger, as_log(log, around(event))) == []


class TestCoverage:
    @pytest.mark.parametrize(
        "time", [TIME - HOUR, TIME + HOUR, TIME - HOUR + LAG / 2, TIME + HOUR - LAG / 2]
    )
    def test_records_near_the_ends_of_the_log_are_not_missed(
        self, ledger: Ledger, log: Path, time: datetime
    ) -> None:
        recorded(ledger, an_attempt(time=time))
        assert found_with(ledger, as_log(log, around())) == []

    def test_records_of_another_cluster_are_not_missed(self, ledger: Ledger, log: Path) -> None:
        recorded(ledger, an_attempt(cluster="another"))
        as_log(log, around())
        assert found_with(ledger, log, cluster="test") == []
        assert len(found_with(ledger, log, cluster="another")) == 1

    def test_only_records_after_since_are_compared(
        self, ledger: Ledger, intruder: Intruder, log: Path
    ) -> None:
        records = recorded(ledger, an_attempt(time=TIME), an_attempt(time=TIME + HOUR / 2))
        as_log(log, around(an_event(TIME, records[0])))
        intruder.run("DELETE FROM record WHERE sequence = 2")
        found = found_with(ledger, log, since=TIME + HOUR / 4)
        assert found == [Unwitnessed(chain="one", sequence=3, id=records[1].entry.id)]

    def test_pruned_records_are_not_missed(self, ledger: Ledger, log: Path) -> None:
        [record] = recorded(ledger, an_attempt())
        as_log(log, around(an_event(record.entry.time, record)))
        with open_maintenance(ledger, "clerk", SIGNER, TIME + 2 * HOUR) as maintenance:
            list(prune(ledger, TIME + HOUR, TRUST, maintenance))
        assert found_with(ledger, log) == []


class TestAuditLog:
    def test_rotated_files_are_read_in_any_order_plain_or_compressed(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        first, second = recorded(ledger, an_attempt(), an_attempt())
        early = as_log(tmp_path / "early", [an_event(TIME - HOUR), an_event(TIME, first)])
        zipped = tmp_path / "audit-2026.log"
        zipped.write_bytes(gzip.compress(early.read_bytes()))
        late = as_log(tmp_path / "audit.log", [an_event(TIME, second), an_event(TIME + HOUR)])
        assert found_with(ledger, late, zipped) == []

    def test_file_given_twice_counts_once(self, ledger: Ledger, log: Path) -> None:
        [record] = recorded(ledger, an_attempt())
        as_log(log, around(an_event(TIME, record)))
        assert found_with(ledger, log, log) == []

    def test_malformed_lines_are_skipped_and_counted(self, ledger: Ledger, log: Path) -> None:
        [record] = recorded(ledger, an_attempt())
        torn = json.dumps(an_event(TIME, record))[:100]
        as_log(log, ["", torn, "null", '{"kind":"Policy"}', *map(json.dumps, around()), "\x00"])
        with closing(read_logs([log])) as read:
            assert (read.events, read.broken) == (2, 4)

    @pytest.mark.parametrize("stage", ["RequestReceived", "ResponseStarted", "Panic"])
    def test_only_completed_requests_count(self, ledger: Ledger, log: Path, stage: str) -> None:
        [record] = recorded(ledger, an_attempt())
        as_log(log, [an_event(TIME, record, stage=stage)])
        with closing(read_logs([log])) as read:
            assert (read.events, list(read.witnesses())) == (0, [])

    @pytest.mark.parametrize(
        "annotations",
        [
            {f"{GUARD}/not-an-id": "d" * 64},
            {f"{GUARD}/{ID}": "no digest"},
            {f"guard.example.org/{ID}": "d" * 64},
            {ID: "d" * 64},
        ],
        ids=["id", "digest", "somebody else's", "nobody's"],
    )
    def test_event_without_a_record_is_skipped(
        self, log: Path, annotations: dict[str, str]
    ) -> None:
        as_log(log, [an_event(TIME, annotations=annotations)])
        with closing(read_logs([log])) as read:
            assert list(read.witnesses()) == []

    def test_witnesses_are_ordered_by_id(self, log: Path) -> None:
        ids = [f"019ca945-0a00-7000-8000-00000000000{n}" for n in (3, 1, 2)]
        events = [an_event(TIME, annotations={f"{GUARD}/{each}": "d" * 64}) for each in ids]
        as_log(log, events)
        with closing(read_logs([log])) as read:
            assert list(read.witnesses()) == [
                Witness(each, "d" * 64, events[0]["auditID"]) for each in sorted(ids)
            ]

    def test_unreadable_file_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(LogUnreadable, match="none"):
            read_logs([tmp_path / "none"])

    def test_truncated_compressed_file_is_reported(self, log: Path) -> None:
        log.write_bytes(gzip.compress(json.dumps(an_event(TIME)).encode())[:-10])
        with pytest.raises(LogUnreadable):
            read_logs([log])
