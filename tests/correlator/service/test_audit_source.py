"""The audit log as a source of the service: read on, reported for a while, and used for causes."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from correlator.attribution.context import Knowledge
from correlator.classify.rule import Scene
from correlator.finding import Result
from correlator.inspection.evidence import Evidence
from correlator.inspection.inspect import Pass
from correlator.inspection.scope import InspectionScope
from correlator.linker import Linker
from correlator.service import metrics
from correlator.service.sources import RECENT, AuditFolderSource
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.policy.policy import DEFAULT
from tests.correlator.audit.recorded import LOG, POLICY, documents, events

END = max(event.stage_timestamp for event in events())


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as ledger:
        yield Evidence(POLICY, ledger, "test")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[AuditFolderSource]:
    (tmp_path / "audit").mkdir()
    with closing(AuditFolderSource(tmp_path / "audit")) as opened:
        yield opened


def read(source: AuditFolderSource, evidence: Evidence, now: datetime) -> Result:
    return source.read(Pass(evidence, InspectionScope(), Scene(evidence.policy, now)))


def knowledge_in(evidence: Evidence) -> Knowledge:
    linker = evidence.linker()
    assert isinstance(linker, Linker)
    return linker.knowledge


def test_audit_log_is_read_on_from_pass_to_pass(
    source: AuditFolderSource, evidence: Evidence, tmp_path: Path
) -> None:
    lines = [json.dumps(each) + "\n" for each in documents()]
    log = tmp_path / "audit" / "audit.log"
    log.write_text("".join(lines[:16]))
    first = read(source, evidence, END)
    with log.open("a") as stream:
        stream.writelines(lines[16:])
    second = read(source, evidence, END)
    assert 0 < len(first.findings) < len(second.findings) == 12
    assert second.findings[0].since == max(each.since for each in second.findings if each.since)


def test_audit_log_is_evidence_for_causes_and_its_age_is_a_metric(
    source: AuditFolderSource, evidence: Evidence, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    before = knowledge_in(evidence)
    read(source, evidence, END)
    after = knowledge_in(evidence)
    assert (len(before.witnesses), len(after.witnesses)) == (0, 2)
    told = metrics.REGISTRY.get_sample_value("glasswarden_audit_event_timestamp_seconds")
    assert told == END.timestamp()


def test_old_bypasses_are_no_longer_findings(
    source: AuditFolderSource, evidence: Evidence, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    later = END + RECENT + timedelta(minutes=1)
    assert read(source, evidence, later).findings == ()


def test_audit_log_is_read_anew_under_another_policy(
    source: AuditFolderSource, evidence: Evidence, tmp_path: Path
) -> None:
    (tmp_path / "audit" / "audit.log").write_text(LOG.read_text())
    read(source, evidence, END)
    told = read(source, replace(evidence, policy=DEFAULT), END)
    assert "lead" in {each.link.actor for each in told.findings if each.link}
    assert all("emergency" not in each.verdict.reason for each in told.findings if each.verdict)
