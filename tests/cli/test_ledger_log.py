"""`glasswarden ledger log`, as its user types it."""

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.ledger.log import lines_of, row_of, widths_of
from glasswarden.cli.main import main
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt, ChangedField, Cut, read_record
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.terminal import width_of
from tests.ledger.builders import TIME, an_attempt, an_opening, records_of
from tests.ledger.fsck.builders import Intruder

SECOND = timedelta(seconds=1)
IMAGE = "/spec/template/spec/containers[name=app]/image"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as opened:
        yield opened


def log(tmp_path: Path, *arguments: str) -> Result:
    address = f"sqlite://{tmp_path}/ledger.db"
    return CliRunner().invoke(main, ["ledger", "log", "--ledger", address, *arguments])


def an_incident() -> list[Attempt]:
    return [
        an_attempt(time=TIME, reason="first", inferred_verb="scale"),
        an_attempt(
            time=TIME + SECOND,
            reason="second",
            name="api",
            actor="responder",
            verdict="allow",
            mode="warn",
            inferred_verb="set",
            ticket="INC-42",
            grant="g1",
            changes=(ChangedField(path=IMAGE, old="app:1", new="app:2"),),
        ),
        an_attempt(
            time=TIME + 2 * SECOND,
            reason="third",
            kind="Kustomization",
            namespace="flux-system",
            name="shop",
            cluster="east",
            app="root",
            changes=(ChangedField(path="/spec/suspend", new=True),),
        ),
    ]


class TestQueries:
    QUESTIONS = (
        ("", "third second first"),
        ("deploy/web", "first"),
        ("deployments.apps/web", "first"),
        ("web", "first"),
        ("ks/shop", "third"),
        ("--kind Deployment", "second first"),
        ("--kind deploy --name api", "second"),
        ("-n flux-system", "third"),
        ("--field /spec/replicas", "first"),
        ("--field /spec/template/", "second"),
        ("deploy/api --field /spec/template/spec/containers", "second"),
        ("--actor responder", "second"),
        ("--ticket INC-42", "second"),
        ("--app shop", "second first"),
        ("--app flux-system/shop", "second first"),
        ("--app argocd/shop", ""),
        ("--grant g1", "second"),
        ("--denied", "third first"),
        ("--before 019ca945-0de8-7000-8000-000000000000", "first"),
        ("--since 2026-03-01T12:00:01Z", "third second"),
        ("--until 2026-03-01T12:00:01Z", "first"),
        ("--since 1h", ""),
        ("--cluster east", "third"),
        ("--limit 1", "third"),
        ("--limit 2 --denied -n shop", "first"),
    )

    @pytest.mark.parametrize(
        ("arguments", "answer"), QUESTIONS, ids=[each for each, _ in QUESTIONS]
    )
    def test_options_filter_the_records(
        self, ledger: Ledger, tmp_path: Path, arguments: str, answer: str
    ) -> None:
        ledger.append(records_of(*an_incident()))
        shown = log(tmp_path, *arguments.split(), "--format", "jsonl")
        assert shown.exit_code == 0, shown.output
        reasons = [json.loads(line)["reason"] for line in shown.stdout.splitlines()]
        assert reasons == answer.split()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--since", "soon"], "try 2h, 7d or"),
            (["--field", "spec.replicas"], "try /spec/replicas"),
            (["widgets/web"], "spell it as in a manifest"),
            (["deploy/"], "try deploy/web"),
            (["--limit", "0"], "x>=1"),
            (["--before", "yesterday"], "is no record's id"),
            (["--follow", "--open-grants"], "--follow shows what comes"),
        ],
    )
    def test_invalid_options_are_rejected_with_a_hint(
        self, tmp_path: Path, arguments: list[str], said: str
    ) -> None:
        refused = log(tmp_path, *arguments)
        assert refused.exit_code == 2
        assert said in refused.output

    def test_missing_ledger_is_not_created(self, tmp_path: Path) -> None:
        refused = log(tmp_path)
        assert refused.exit_code == 1
        assert refused.output == f"Error: there is no ledger at {tmp_path}/ledger.db\n"
        assert list(tmp_path.iterdir()) == []


class TestTable:
    def test_table_has_actor_object_time_and_reason(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.append(records_of(*an_incident()[:2]))
        assert log(tmp_path).output.splitlines() == [
            "TIME (UTC)           VERDICT       ACTOR      VERB   OBJECT                  TICKET",
            "2026-03-01 12:00:01  allow (warn)  responder  set    deployment/api -n shop  INC-42",
            f'    {IMAGE}  "app:1" → "app:2"',
            "    reason: second",
            "2026-03-01 12:00:00  deny          developer  scale  deployment/web -n shop  -",
            "    /spec/replicas  3 → 5",
            "    reason: first",
        ]

    def test_empty_result_is_reported(self, ledger: Ledger, tmp_path: Path) -> None:
        assert ledger.heads() == []
        shown = log(tmp_path)
        assert (shown.exit_code, shown.stdout) == (0, "")
        assert "Nothing was recorded" in shown.stderr

    def test_absent_hidden_and_shortened_values_are_distinguished(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        cut = Cut(9000, "a" * 64)
        changes = (
            ChangedField(path="/a", new=None),
            ChangedField(path="/b", old_masked="1:x", new_masked="1:y"),
            ChangedField(path="/c", old_cut=cut, new=""),
        )
        ledger.append(records_of(an_attempt(changes=changes, unlisted=7)))
        assert log(tmp_path).output.splitlines()[2:] == [
            "    /a  (none) → null",
            "    /b  (hidden) → (hidden)",
            '    /c  (9000 bytes) → ""',
            "    and 7 more",
        ]

    def test_control_characters_are_escaped(self, ledger: Ledger, tmp_path: Path) -> None:
        evil = "\x1b]0;owned\x07\x9b2J\r\n\u202e"
        changes = (ChangedField(path=f"/{evil}", old=evil, new={evil: [evil]}),)
        fields = ("actor", "name", "namespace", "kind", "ticket", "reason", "clause", "verdict")
        evils = dict.fromkeys((*fields, "inferred_verb"), evil)
        ledger.append(records_of(an_attempt(**evils, changes=changes)))
        for output in ("table", "json", "jsonl"):
            shown = log(tmp_path, "--format", output).output
            assert all(line.isprintable() for line in shown.split("\n"))

    @pytest.mark.parametrize("columns", [40, 80, 100, 200])
    def test_table_fits_the_terminal(self, columns: int) -> None:
        records = records_of(
            *an_incident(),
            an_attempt(actor="system:serviceaccount:" + "x" * 80, ticket="日" * 30),
            an_attempt(name="y" * 90, changes=(ChangedField(path="/z" * 90, new=1),)),
        )
        rows = [row_of(record, 2) for record in records]
        widths = widths_of(rows, [])
        lines = [
            line for row in rows for line in lines_of(row._replace(color=None), widths, columns)
        ]
        assert max(map(width_of, map(_without_style, lines))) <= columns


def _without_style(line: str) -> str:
    return line.replace("\x1b[0m", "")


class TestTries:
    def tries(self) -> list[Attempt]:
        alike = {"fingerprint": "f1", "reason": "patched"}
        return [
            an_attempt(time=TIME, **alike),
            an_attempt(time=TIME + SECOND, reason="another's", fingerprint="f2"),
            an_attempt(time=TIME + 2 * SECOND, **alike),
        ]

    def test_tries_of_one_write_are_one_row_with_their_count(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        ledger.append(records_of(*self.tries()))
        lines = log(tmp_path).output.splitlines()
        assert "update (tried 2 times)" in lines[1]
        assert [line for line in lines if "reason" in line] == [
            "    reason: patched",
            "    reason: another's",
        ]

    def test_json_has_the_ids_of_all_tries(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.append(records := records_of(*self.tries()))
        [patched, _] = json.loads(log(tmp_path, "--format", "json").output)
        assert patched["tries"] == [records[0].entry.id, records[2].entry.id]
        assert patched["digest"] == records[2].digest

    def test_tries_are_counted_across_pages(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.append(records_of(*self.tries()))
        [line] = log(tmp_path, "--limit", "1", "--format", "jsonl").output.splitlines()
        assert len(json.loads(line)["tries"]) == 2


def test_pages_are_consecutive(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(records_of(*an_incident()))
    seen: list[str] = []
    before: list[str] = []
    for _ in range(3):
        shown = log(tmp_path, "--limit", "1", *before)
        seen += [line.strip() for line in shown.stdout.splitlines() if "reason" in line]
        before = shown.stderr.removeprefix("Older ones: ").split()
    assert seen == ["reason: third", "reason: second", "reason: first"]
    assert log(tmp_path, *before).stdout == ""


class TestOpenGrants:
    def test_open_grant_is_listed_with_its_last_record(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        over = {"grant_expires": datetime.now(UTC) + timedelta(hours=1)}
        ledger.append(
            records_of(
                an_opening(),
                an_attempt(grant="g1", grant_act="issued", reason="first", **over),
                an_attempt(grant="g1", grant_act="extended", reason="longer", **over),
                an_attempt(grant="g2", grant_act="issued", name="api", reason="second", **over),
                an_attempt(grant="g3", grant_act="issued", name="db", reason="ended", **over),
                an_attempt(grant="g3", grant_act="closed", name="db", reason="ended"),
            )
        )
        for options, expected in (
            ((), ["second", "longer"]),
            (("--name", "api"), ["second"]),
            (("--limit", "1"), ["second"]),
            (("--cluster", "another"), []),
        ):
            shown = log(tmp_path, "--open-grants", *options, "--format", "jsonl").stdout
            assert [json.loads(line)["reason"] for line in shown.splitlines()] == expected


class TestUnreadableRecords:
    def test_damaged_record_is_listed_and_hides_no_other(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        ledger.append(records := records_of(*an_incident()))
        Intruder(f"sqlite://{tmp_path}/ledger.db").run(
            "UPDATE record SET body = x'00' WHERE sequence = 2"
        )
        shown = log(tmp_path)
        assert shown.exit_code == 0
        lines = shown.stdout.splitlines()
        assert [line.strip() for line in lines if "reason" in line] == [
            "reason: third",
            "reason: first",
        ]
        [place] = [number for number, line in enumerate(lines) if "damaged" in line]
        assert "writer-1#2" in lines[place]
        assert "ledger fsck" in lines[place + 1]
        [_, damaged, _] = json.loads(log(tmp_path, "--format", "json").stdout)
        assert (damaged["type"], damaged["id"]) == ("damaged", records[1].entry.id)
        assert damaged["digest"] == records[1].digest

    def test_record_of_a_later_version_is_marked(self, ledger: Ledger, tmp_path: Path) -> None:
        known, strange = records_of(an_attempt(format=99), an_attempt(format=99, name="api"))
        # A later version may mean another thing by a field that we know.
        body = strange.body.replace(b'"verdict":"deny"', b'"verdict":["deny"]')
        ledger.append([known, read_record(body, hashlib.sha256(body).hexdigest())])
        lines = log(tmp_path).stdout.splitlines()
        assert len([line for line in lines if "a later version wrote it" in line]) == 2
        assert any("later" in line and "writer-1#2" in line for line in lines)
        assert not log(tmp_path, "--name", "web").stdout.count("writer-1#2")

    def test_json_marks_a_record_of_a_later_version(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.append(records_of(an_attempt(format=99), an_attempt(name="api")))
        [plain, later] = json.loads(log(tmp_path, "--format", "json").stdout)
        assert later["later"]
        assert "later" not in plain


@pytest.mark.slow
def test_follow_prints_new_records_until_interrupted(ledger: Ledger, tmp_path: Path) -> None:
    """Also a record older than the printed ones, from a writer that was not known before."""
    ledger.append(records_of(*an_incident()[1:2]))
    command = [sys.executable, "-m", "glasswarden", "ledger", "log", "--follow"]
    where = ["--ledger", f"sqlite://{tmp_path}/ledger.db", "--format", "jsonl"]
    with subprocess.Popen(
        [*command, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout
        assert following.stderr
        seen = [json.loads(following.stdout.readline())["reason"]]
        for number, late in enumerate([an_incident()[2], an_incident()[0]]):
            ledger.append(records_of(late, writer=f"writer-{number + 2}"))
            seen.append(json.loads(following.stdout.readline())["reason"])
        following.send_signal(signal.SIGINT)
        assert following.stdout.read() == ""
        assert following.stderr.read() == ""
    assert seen == ["second", "third", "first"]
    assert following.returncode == 0
