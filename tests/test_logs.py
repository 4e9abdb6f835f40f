"""The log's level and samples change while it runs; denials and grants are always logged."""

import asyncio
import io
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glasswarden.logs import (
    LogFile,
    LogRules,
    Sampler,
    configure_logs,
    is_always_logged,
    parse_log_rules,
    set_level,
)
from glasswarden.policy.breakglass.tokens import Act, GrantUse
from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.typed_yaml import TextInvalid
from tests.ledger.builders import KEYS
from tests.webhook.builders import a_deployment, a_review
from webhook.admission import Admission
from webhook.recording.recorder import Recorder
from webhook.recording.store import links_to
from webhook.reloading import Rules

BENIGN = Decision(Verdict.ALLOW, Clause.BENIGN)
REFUSED = Decision(Verdict.DENY, Clause.GUARD)
MARKER = "hunter2-do-not-tell"


def test_sampled_line_carries_the_number_of_decisions_it_stands_for() -> None:
    sampler = Sampler(LogRules(sample={Clause.BENIGN: 10}))
    assert [sampler.weight(BENIGN) for _ in range(21)] == [10, *[0] * 9] * 2 + [10]


def test_denials_are_never_sampled() -> None:
    sampler = Sampler(LogRules(sample=dict.fromkeys(Clause, 1000)))
    assert [sampler.weight(REFUSED) for _ in range(5)] == [1] * 5


def test_decisions_about_a_grant_are_never_sampled(granted: GrantUse) -> None:
    sampler = Sampler(LogRules(sample={Clause.BREAKGLASS: 1000}))
    used = Decision(Verdict.ALLOW, Clause.BREAKGLASS, grant=granted)
    assert [sampler.weight(used) for _ in range(5)] == [1] * 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("level: loud", "line 1, column 8: level: invalid value 'loud'"),
        ("sample: {gaurd: 10}", "line 1"),
        ("sample: {benign: 0}", "line 1, column 9: sample"),
        ("levle: info", "did you mean 'level'"),
    ],
)
def test_mistake_in_the_log_rules_is_reported_with_line_and_column(
    text: str, complaint: str
) -> None:
    with pytest.raises(TextInvalid) as caught:
        parse_log_rules(text)
    assert complaint in str(caught.value)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Return what the log says, line by line, through the processors that really run."""
    written, before = io.StringIO(), structlog.get_config()
    monkeypatch.setattr("sys.stderr", written)
    configure_logs()
    structlog.configure(cache_logger_on_first_use=False)
    yield written
    set_level(logging.INFO)
    structlog.configure(**before)


def said(lines: io.StringIO) -> list[str]:
    return [json.loads(line)["event"] for line in lines.getvalue().splitlines()]


def test_log_level_follows_the_logging_file(tmp_path: Path, lines: io.StringIO) -> None:
    path, sampler = tmp_path / "logging.yaml", Sampler()
    file = LogFile(path, sampler)
    log = structlog.get_logger()
    for text, wanted in (
        (None, ["a", "b"]),
        ("level: warning", ["b"]),
        ("level: [", ["b"]),
        (f"level: {'[' * 5000}", ["b"]),
        ("level: debug", ["d", "a", "b"]),
        (None, ["a", "b"]),
    ):
        path.write_text(text) if text else path.unlink(missing_ok=True)
        file.refresh()
        before = len(lines.getvalue())
        log.debug("d")
        log.info("a")
        log.warning("b")
        seen = io.StringIO(lines.getvalue()[before:])
        assert said(seen) == wanted, text
    assert said(lines).count("logging rules reloaded") == 3
    assert said(lines).count("logging rules not reloaded") == 2


def test_log_level_follows_the_file_without_an_event_loop(
    tmp_path: Path, lines: io.StringIO
) -> None:
    path = tmp_path / "logging.yaml"
    path.write_text("level: error")
    LogFile(path, Sampler()).follow_aside()
    log = structlog.get_logger()
    log.warning("before")
    path.write_text("level: warning")
    deadline = time.monotonic() + 20
    while "after" not in said(lines):
        assert time.monotonic() < deadline, "the file was not read again"
        time.sleep(0.05)
        log.warning("after")
    assert "before" not in said(lines)


@pytest.mark.parametrize("level", ["warning", "error"])
def test_denial_is_logged_at_every_level(tmp_path: Path, lines: io.StringIO, level: str) -> None:
    set_level(parse_log_rules(f"level: {level}").level.number)
    restart = a_deployment()
    template = restart["spec"].setdefault("template", {}).setdefault("metadata", {})
    template["annotations"] = {"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"}
    asyncio.run(_review(tmp_path, [a_review(), a_review(object=restart)]))
    [line] = [json.loads(each) for each in lines.getvalue().splitlines()]
    assert (line["event"], line["verdict"]) == ("write decided", "deny")
    assert "always" not in line


def test_decision_about_a_grant_is_logged_at_every_level(granted: GrantUse) -> None:
    assert is_always_logged(Decision(Verdict.ALLOW, Clause.BREAKGLASS, grant=granted))
    assert not is_always_logged(BENIGN)


def test_denial_that_cannot_be_recorded_is_logged(tmp_path: Path, lines: io.StringIO) -> None:
    set_level(logging.ERROR)
    (tmp_path / "ledger.db").mkdir()
    asyncio.run(_review(tmp_path, [a_review()]))
    decided = [json.loads(line) for line in lines.getvalue().splitlines() if "decided" in line]
    assert [(line["verdict"], line["record"]) for line in decided] == [("deny", "")]


def test_review_is_answered_when_the_log_cannot_be_written(
    tmp_path: Path, lines: io.StringIO
) -> None:
    async def answered() -> bytes:
        recorder = Recorder(links_to(f"sqlite://{tmp_path}/ledger.db")[0], "one", "", KEYS)
        await recorder.open()
        lines.close()
        answer = await Admission(Rules(None), recorder).validate(a_review())
        await recorder.close()
        return answer

    response = json.loads(asyncio.run(answered()))["response"]
    assert not response["allowed"]
    assert "record" in response["auditAnnotations"]


def a_secret(value: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of it
    marks = {f"kustomize.toolkit.fluxcd.io/{key}": "shop" for key in ("name", "namespace")}
    metadata = {"name": "db", "namespace": "shop", "uid": "u", "labels": marks}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "data": {"password": value},
    } | more


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(prefix=st.text(max_size=20), suffix=st.text(max_size=20), extra=st.integers())
def test_values_of_secrets_are_never_logged(
    tmp_path: Path, lines: io.StringIO, prefix: str, suffix: str, extra: int
) -> None:
    value = f"{prefix}{MARKER}{suffix}"
    reviews = [
        a_review(oldObject=a_secret("old"), object=a_secret(value)),
        a_review(oldObject=a_secret(value), object=a_secret("new")),
        a_review(oldObject=a_secret("old"), object=a_secret(value, stringData=[value, extra])),
        a_review(oldObject=a_secret("old"), object=a_secret(value))[:-7],
        json.dumps({"kind": value, "request": value}).encode(),
        json.dumps({"request": {"object": {"data": {value: [value]}}}}).encode(),
    ]
    asyncio.run(_review(tmp_path, reviews))
    assert MARKER not in lines.getvalue()


async def _review(folder: Path, reviews: list[bytes]) -> None:
    """Have each of *reviews* answered as the application does, and whatever is raised logged."""
    link = links_to(f"sqlite://{folder}/ledger.db")[0]
    recorder = Recorder(link, "one", "", KEYS)
    admission = Admission(Rules(None), recorder)
    log = structlog.get_logger()
    for review in reviews:
        try:
            await admission.validate(review)
        except Exception:
            log.exception("review failed")
    await recorder.close()


def test_exception_is_logged_with_its_location_and_without_its_message(
    lines: io.StringIO,
) -> None:
    log = structlog.get_logger()
    try:
        int(MARKER)
    except ValueError:
        log.exception("review failed")
    line = json.loads(lines.getvalue())
    assert (line["exception"], MARKER in lines.getvalue()) == ("ValueError", False)
    assert "test_logs.py" in line["raised_at"][-1]


@pytest.fixture
def granted() -> GrantUse:
    return GrantUse("g", Act.USED, "responder", "on-call", "INC-42", "down", None)


def test_logging_file_is_read_again_after_an_unforeseen_error(
    tmp_path: Path, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that follows the file would end with the first error that it does not know."""
    path, sampler = tmp_path / "logging.yaml", Sampler()
    file = LogFile(path, sampler)
    path.write_text("level: error")
    with monkeypatch.context() as broken:
        broken.setattr("glasswarden.logs.parse_log_rules", raise_unforeseen)
        file.refresh()
    assert "logging rules not reloaded" in said(lines)
    path.write_text("level: debug")
    file.refresh()
    assert sampler.rules.level.value == "debug"


def raise_unforeseen(_text: str) -> LogRules:
    raise ZeroDivisionError
