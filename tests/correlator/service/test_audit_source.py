"""The audit log as a source of the service: read on, reported for a while, and used for causes."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from correlator.classify.rule import Scene
from correlator.inspection.attribute import Causes
from correlator.service import metrics
from correlator.service.sources import RECENT, AuditSource
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.policy.policy import DEFAULT
from tests.correlator.audit.recorded import LOG, POLICY, documents, events

END = max(event.stage_timestamp for event in events())


@pytest.fixture
def causes(tmp_path: Path) -> Iterator[Causes]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as ledger:
        yield Causes(ledger, "test", POLICY, None)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[AuditSource]:
    (tmp_path / "audit").mkdir()
    with closing(AuditSource(tmp_path / "audit")) as opened:
        yield opened


def test_audit_log_is_read_on_from_pass_to_pass(
    source: AuditSource, causes: Causes, tmp_path: Path
) -> None:
    lines = [json.dumps(each) + "\n" for each in documents()]
    log = tmp_path / "audit" / "audit.log"
    log.write_text("".join(lines[:16]))
    first = source.read(Scene(POLICY, END), causes)
    with log.open("a") as stream:
        stream.writelines(lines[16:])
    second = source.read(Scene(POLICY, END), causes)
    assert 0 < len(first.findings) < len(second.findings) == 12
    assert second.findings[0].since == max(each.since for each in second.findings if each.since)


def test_audit_log_is_evidence_for_causes_and_its_age_is_a_metric(
    source: AuditSource, causes: Causes, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    before = causes.linker().knowledge
    source.read(Scene(POLICY, END), causes)
    after = causes.linker().knowledge
    assert (len(before.witnesses), len(after.witnesses)) == (0, 2)
    told = metrics.REGISTRY.get_sample_value("glasswarden_audit_event_timestamp_seconds")
    assert told == END.timestamp()


def test_old_bypasses_are_no_longer_findings(
    source: AuditSource, causes: Causes, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    later = END + RECENT + timedelta(minutes=1)
    assert source.read(Scene(POLICY, later), causes).findings == ()


def test_audit_log_is_read_anew_under_another_policy(
    source: AuditSource, causes: Causes, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    source.read(Scene(POLICY, END), causes)
    told = source.read(Scene(DEFAULT, END), causes)
    assert "lead" in {each.link.actor for each in told.findings if each.link}
    assert all("emergency" not in each.verdict.reason for each in told.findings if each.verdict)
