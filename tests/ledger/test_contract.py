"""What every ledger does, whichever database keeps it: the `Ledger` protocol, specified."""

import itertools
import threading
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from glasswarden.ledger.errors import HoldAdded, LedgerConflict, RecordMalformed
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.query import LONGEST, Question, columns_of, fields_of
from glasswarden.ledger.record import Attempt, ChangedField, Damaged, Head, Kept, Record
from glasswarden.ledger.writes import record_in
from tests.ledger.builders import (
    TIME,
    a_chain,
    a_gap,
    a_tombstone,
    an_attempt,
    an_opening,
    records_of,
)
from tests.ledger.conftest import Opener
from tests.ledger.fsck.builders import Intruder

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


def everything(ledger: Ledger) -> list[Record]:
    return ledger.ask(Question(limit=1000))


def reasons(records: Iterable[Record]) -> list[str]:
    return [record.entry.reason for record in records if isinstance(record.entry, Attempt)]


def head_of(records: list[Record]) -> Head:
    last = records[-1]
    return Head(last.entry.writer, last.entry.sequence, last.digest)


class TestAppend:
    def test_appended_records_are_returned_newest_first_and_byte_for_byte(
        self, ledger: Ledger
    ) -> None:
        records = records_of(an_attempt(), an_attempt(), an_attempt())
        ledger.append(records)
        assert everything(ledger) == records[::-1]

    def test_appended_records_are_kept_after_the_ledger_is_closed(self, opener: Opener) -> None:
        ledger = opener()
        records = records_of(an_opening(), an_attempt())
        ledger.append(records)
        ledger.close()
        assert [row.body for row in opener().rows_since()] == [each.body for each in records]

    def test_appended_records_are_visible_to_others_at_once(self, opener: Opener) -> None:
        one, other = opener(), opener()
        assert everything(other) == []
        one.append(records := records_of(an_attempt()))
        assert everything(other) == records

    def test_empty_batch_can_be_appended(self, ledger: Ledger) -> None:
        ledger.append([])
        assert everything(ledger) == []
        assert ledger.heads() == []

    def test_stored_record_is_skipped_when_appended_again(self, ledger: Ledger) -> None:
        records = records_of(an_attempt(), an_attempt(), an_attempt())
        ledger.append(records[:2])
        ledger.append(records)
        ledger.append(records[:1])
        assert everything(ledger) == records[::-1]
        assert ledger.heads() == [head_of(records)]

    def test_record_that_occurs_twice_in_a_batch_is_stored_once(self, ledger: Ledger) -> None:
        [record] = records_of(an_attempt())
        ledger.append([record, record])
        assert everything(ledger) == [record]

    def test_record_with_a_used_sequence_number_is_a_conflict(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(an_attempt()))
        with pytest.raises(LedgerConflict, match="at 1 in the chain of writer-1"):
            ledger.append(records_of(an_attempt()))
        assert everything(ledger) == records

    def test_record_with_a_used_id_is_a_conflict(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(first := an_attempt()))
        with pytest.raises(LedgerConflict, match=first.id):
            ledger.append(records_of(an_attempt(id=first.id), writer="other"))
        assert everything(ledger) == records

    def test_conflict_stores_no_record_of_its_batch(self, ledger: Ledger) -> None:
        ledger.append(kept := records_of(an_attempt(reason="kept")))
        fresh = records_of(an_attempt(), an_attempt(), writer="other")
        forged = records_of(an_attempt(reason="forged"))
        with pytest.raises(LedgerConflict):
            ledger.append([*fresh, *forged])
        assert everything(ledger) == kept
        assert ledger.heads() == [head_of(kept)]
        ledger.append(fresh)
        assert set(ledger.heads()) == {head_of(kept), head_of(fresh)}

    def test_several_writers_can_append_concurrently(self, opener: Opener, address: str) -> None:
        writers = [f"writer-{number}" for number in range(3)]
        chains = {
            name: records_of(*(an_attempt() for _ in range(8)), writer=name) for name in writers
        }
        start = threading.Barrier(len(writers))

        def write(name: str) -> None:
            with closing(open_ledger(address)) as ledger:
                start.wait()
                for record in chains[name]:
                    ledger.append([record])

        threads = [threading.Thread(target=write, args=(name,)) for name in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger = opener()
        for name in writers:
            assert [row.body for row in ledger.rows(name)] == [each.body for each in chains[name]]


TEXTS = {
    "nul": "a\0b",
    "quotes": """it's "quoted"; DROP TABLE record; -- %s ? :x \\""",
    "unicode": "zoë \N{SNOWMAN} \N{PILE OF POO} \u202e",
    "controls": "\x1b[31m\r\n\t\x7f",
    "long": "x" * 100_000,
    "long, of many bytes": "\N{PILE OF POO}" * 500,
    "as long as can be": "x" * LONGEST,
    "wildcards": "%_*?[a-z]",
}


class TestOddText:
    """Names and values are anybody's text; the body keeps it whatever the columns can."""

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    @pytest.mark.parametrize("column", ["actor", "app", "ticket", "grant", "kind", "cluster"])
    def test_odd_text_is_stored_and_found(self, ledger: Ledger, column: str, text: str) -> None:
        records = records_of(an_attempt(**{column: text}), an_attempt())
        ledger.append(records)
        assert ledger.ask(Question(**{column: text})) == records[:1]  # type: ignore[arg-type]

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_odd_text_is_found_as_object_and_field(self, ledger: Ledger, text: str) -> None:
        odd = {"namespace": text, "name": text, "changes": (ChangedField(path=f"/{text}"),)}
        records = records_of(an_attempt(**odd), an_attempt())
        ledger.append(records)
        asked = Question(namespace=text, name=text, field=f"/{text}")
        assert ledger.ask(asked) == records[:1]
        [row, _] = ledger.rows_since()
        assert row.columns == columns_of(records[0].entry)
        assert row.fields == fields_of(records[0].entry)

    def test_long_texts_with_a_common_prefix_are_distinguished(self, ledger: Ledger) -> None:
        long = "x" * 5000
        records = records_of(an_attempt(actor=f"{long}1"), an_attempt(actor=f"{long}2"))
        ledger.append(records)
        assert ledger.ask(Question(actor=f"{long}2")) == records[1:]

    def test_long_path_is_found_by_its_parent(self, ledger: Ledger) -> None:
        changes = (ChangedField(path=f"/spec/{'x' * 5000}"),)
        ledger.append(records := records_of(an_attempt(changes=changes)))
        assert ledger.ask(Question(field="/spec")) == records

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_odd_values_are_returned_unchanged(self, ledger: Ledger, text: str) -> None:
        changes = (ChangedField(path="/data/x", old=text, new={text: [text]}),)
        ledger.append(records := records_of(an_attempt(changes=changes, reason=text)))
        assert everything(ledger) == records


IMAGE = "/spec/template/spec/containers[name=app]/image"


def _changed(*paths: str) -> tuple[ChangedField, ...]:
    return tuple(ChangedField(path=path, new=1) for path in paths)


def a_busy_week() -> list[Attempt]:
    """Return attempts, an hour apart, each with its reason as a label, oldest first."""
    differing: list[dict[str, Any]] = [
        {"reason": "scale", "changes": _changed("/spec/replicas")},
        {"reason": "image", "changes": _changed(IMAGE, "/spec/replicas"), "verdict": "allow"},
        {"reason": "sibling", "changes": _changed("/spec/templateX", "/spec/template-2")},
        {"reason": "whole", "changes": _changed("/spec/template")},
        {"reason": "api", "name": "api", "changes": _changed(IMAGE), "actor": "responder"},
        {"reason": "job", "kind": "Job", "group": "batch", "changes": _changed("/spec/suspend")},
        {"reason": "core", "kind": "ConfigMap", "group": "", "changes": _changed("/data/a~1b")},
        {"reason": "till", "namespace": "till", "app": "till", "engine": "argocd"},
        {"reason": "cluster-wide", "namespace": "", "name": "admins", "kind": "ClusterRole"},
        {"reason": "east", "cluster": "east", "ticket": "INC-42", "verdict": "allow"},
        {"reason": "glass", "ticket": "INC-42", "grant": "g1", "verdict": "allow"},
        {"reason": "other-app", "app_namespace": "apps", "engine": "argocd", "changes": ()},
        {
            "reason": "unowned",
            "engine": "",
            "app": "",
            "app_namespace": "",
            "changes": _changed("/"),
        },
    ]
    return [an_attempt(time=TIME + number * HOUR, **each) for number, each in enumerate(differing)]


QUESTIONS: dict[str, tuple[dict[str, object], str]] = {
    "an object": (
        {"namespace": "shop", "name": "web", "kind": "Deployment"},
        "unowned other-app glass east whole sibling image scale",
    ),
    "an object's name": ({"namespace": "shop", "name": "api"}, "api"),
    "a name in any namespace": ({"name": "admins"}, "cluster-wide"),
    "a namespace": ({"namespace": "till"}, "till"),
    "no namespace": ({"namespace": ""}, "cluster-wide"),
    "a kind": ({"kind": "Job"}, "job"),
    "a group": ({"group": "batch"}, "job"),
    "the core group": ({"group": ""}, "core"),
    "a field": (
        {"namespace": "shop", "name": "web", "field": "/spec/replicas"},
        "glass east image scale",
    ),
    "a field anywhere": ({"field": IMAGE}, "api image"),
    "what is below a field": (
        {"namespace": "shop", "name": "web", "field": "/spec/template"},
        "whole image",
    ),
    "a list and its items": ({"field": "/spec/template/spec/containers"}, "api image"),
    "an item": ({"field": "/spec/template/spec/containers[name=app]"}, "api image"),
    "another item": ({"field": "/spec/template/spec/containers[name=ap]"}, ""),
    "half a name": ({"field": "/spec/repl"}, ""),
    "an escaped key": ({"field": "/data/a~1b"}, "core"),
    "the root": ({"field": "/", "namespace": "shop", "group": ""}, "core"),
    "an actor": ({"actor": "responder"}, "api"),
    "nobody": ({"actor": "respond"}, ""),
    "a ticket": ({"ticket": "INC-42"}, "glass east"),
    "an application": ({"app": "till"}, "till"),
    "an application of an engine": ({"app": "shop", "engine": "argocd"}, "other-app"),
    "an application in a namespace": ({"app": "shop", "app_namespace": "apps"}, "other-app"),
    "no application": ({"app": ""}, "unowned"),
    "an engine": ({"engine": "argocd"}, "other-app till"),
    "a grant": ({"grant": "g1"}, "glass"),
    "any grant": ({"granted": True}, "glass"),
    "any grant of an actor": ({"granted": True, "actor": "responder"}, ""),
    "any grant in a cluster": ({"granted": True, "cluster": "test"}, "glass"),
    "what was let in": ({"verdict": "allow"}, "glass east image"),
    "what was denied of an actor": ({"verdict": "deny", "actor": "responder"}, "api"),
    "what was denied in a namespace": ({"verdict": "deny", "namespace": "till"}, "till"),
    "a cluster": ({"cluster": "east"}, "east"),
    "a ticket in a cluster": ({"ticket": "INC-42", "cluster": "test"}, "glass"),
    "since": ({"since": TIME + 11 * HOUR}, "unowned other-app"),
    "until": ({"until": TIME + 2 * HOUR}, "image scale"),
    "between": ({"since": TIME + HOUR, "until": TIME + 3 * HOUR}, "sibling image"),
    "an object's past": ({"name": "web", "until": TIME + HOUR}, "scale"),
    "an actor lately": ({"actor": "responder", "since": TIME + 5 * HOUR}, ""),
    "the last of them": ({"limit": 2}, "unowned other-app"),
}


class TestQueries:
    @pytest.mark.parametrize(("asked", "answer"), QUESTIONS.values(), ids=QUESTIONS)
    def test_query_returns_matching_records_newest_first(
        self, ledger: Ledger, asked: dict[str, Any], answer: str
    ) -> None:
        ledger.append(records_of(an_opening(time=TIME), *a_busy_week()))
        assert reasons(ledger.ask(Question(**asked))) == answer.split()
        assert reasons(map(record_in, ledger.find_rows(Question(**asked)))) == answer.split()

    def test_two_conditions_are_combined(self, ledger: Ledger) -> None:
        """What a driver answers is what `Question.wants`, in words as simple as can be."""
        week = a_busy_week()
        ledger.append(records_of(*week))
        conditions = [
            {name: value}
            for asked, _ in QUESTIONS.values()
            for name, value in asked.items()
            if name != "limit"
        ]
        for one, other in itertools.combinations(conditions, 2):
            question = Question(**one | other)  # type: ignore[arg-type]
            answer = [each.reason for each in reversed(week) if question.wants(each)]
            assert reasons(ledger.ask(question)) == answer, question

    @pytest.mark.parametrize(
        ("bounds", "found"),
        [
            ({"since": TIME}, 1),
            ({"since": TIME + MICROSECOND}, 0),
            ({"until": TIME}, 0),
            ({"until": TIME + MICROSECOND}, 1),
            ({"since": TIME - MICROSECOND, "until": TIME + MICROSECOND}, 1),
        ],
        ids=["since it", "since after it", "until it", "until after it", "around it"],
    )
    def test_time_bounds_are_exact_to_the_microsecond(
        self, ledger: Ledger, bounds: dict[str, Any], found: int
    ) -> None:
        ledger.append(records_of(an_attempt(time=TIME)))
        assert len(ledger.ask(Question(**bounds))) == found

    def test_query_returns_only_attempts(self, ledger: Ledger) -> None:
        ledger.append(records_of(an_opening(), a_tombstone("gone", 1)))
        assert everything(ledger) == []
        assert ledger.ask(Question(actor="", namespace="", app="")) == []


class TestPages:
    def pages(self, ledger: Ledger, size: int, **asked: Any) -> list[list[str]]:  # noqa: ANN401
        """Return the labels on each page until one is not full."""
        pages, before = [], None
        while True:
            found = ledger.ask(Question(limit=size, before=before, **asked))
            pages.append(reasons(found))
            if len(found) < size:
                return pages
            before = found[-1].entry.id

    @pytest.mark.parametrize("asked", [{}, {"actor": "developer"}, {"field": "/spec/replicas"}])
    def test_pages_together_contain_all_records(
        self, ledger: Ledger, asked: dict[str, Any]
    ) -> None:
        ledger.append(records_of(*(an_attempt(reason=f"{number}") for number in range(7))))
        pages = self.pages(ledger, 3, **asked)
        assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]

    def test_records_of_one_instant_are_neither_lost_nor_repeated(self, ledger: Ledger) -> None:
        ledger.append(
            records_of(*(an_attempt(time=TIME, reason=f"{number}") for number in range(7)))
        )
        pages = self.pages(ledger, 2)
        assert sorted(itertools.chain(*pages)) == [f"{number}" for number in range(7)]

    def test_records_that_arrive_between_pages_do_not_change_later_pages(
        self, ledger: Ledger
    ) -> None:
        """Newer, of the same instant, or older and late: what was there is seen once."""
        instants = [TIME + number * HOUR for number in range(6)]
        ledger.append(
            records_of(*(an_attempt(time=time, reason=f"{time:%H}") for time in instants))
        )
        seen, before = list[str](), None
        for number in itertools.count():
            found = ledger.ask(Question(limit=2, before=before))
            seen += reasons(found)
            if not found:
                break
            before = found[-1].entry.id
            late = [an_attempt(time=time, reason="late") for time in (*instants, TIME + 9 * HOUR)]
            if number < 2:
                ledger.append(records_of(*late, writer=f"late-{number}"))
        assert [reason for reason in seen if reason != "late"] == [
            "17",
            "16",
            "15",
            "14",
            "13",
            "12",
        ]
        assert "late" in seen  # older ones still come


class TestOpenGrants:
    NOW = TIME + 2 * HOUR

    def act(self, act: str, at: float, grant: str = "g1", **differing: Any) -> Attempt:  # noqa: ANN401
        expires = None if act in {"closed", "requested"} else TIME + 8 * HOUR
        return an_attempt(
            **{
                "time": TIME + at * HOUR,
                "verdict": "allow",
                "grant": grant,
                "grant_act": act,
                "grant_expires": expires,
                "reason": f"{grant} {act}",
            }
            | differing
        )

    def open_after(self, ledger: Ledger, *acts: Attempt, now: datetime = NOW) -> list[str]:
        ledger.append(records_of(*acts))
        return reasons(ledger.open_grants("test", now))

    def test_issued_grant_is_open(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("issued", 0)) == ["g1 issued"]

    def test_requested_grant_is_not_open(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("requested", 0)) == []

    def test_used_grant_stays_open(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("issued", 0), self.act("used", 1)) == ["g1 issued"]

    def test_closed_grant_is_not_open(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("issued", 0), self.act("closed", 1)) == []

    def test_closed_grant_is_not_open_despite_clock_skew(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("issued", 1), self.act("closed", 0)) == []

    def test_extended_grant_is_returned_by_its_last_extension(self, ledger: Ledger) -> None:
        acts = [self.act("issued", 0), self.act("extended", 1, reason="longer")]
        again = self.act("extended", 1.5, reason="still longer")
        assert self.open_after(ledger, *acts, again) == ["still longer"]

    def test_expired_grant_is_not_open(self, ledger: Ledger) -> None:
        soon = self.act("issued", 0, grant_expires=self.NOW)
        assert self.open_after(ledger, soon) == []
        assert reasons(ledger.open_grants("test", self.NOW - MICROSECOND)) == ["g1 issued"]

    def test_extension_can_shorten_a_grant(self, ledger: Ledger) -> None:
        shorter = self.act("extended", 1, grant_expires=self.NOW)
        assert self.open_after(ledger, self.act("issued", 0), shorter) == []

    def test_open_grants_of_a_cluster_are_returned_newest_first(self, ledger: Ledger) -> None:
        acts = [
            self.act("issued", 0, "g1"),
            self.act("issued", 0.5, "g2", name="api"),
            self.act("issued", 0.7, "g3", cluster="east"),
            self.act("closed", 1, "g4", name="db"),
        ]
        assert self.open_after(ledger, *acts) == ["g2 issued", "g1 issued"]

    def test_approved_grant_is_open_once(self, ledger: Ledger) -> None:
        acts = [self.act("requested", 0), self.act("approved", 1), self.act("used", 1.5)]
        assert self.open_after(ledger, *acts) == ["g1 approved"]

    def test_extended_approved_grant_is_returned_by_its_extension(self, ledger: Ledger) -> None:
        acts = [self.act("approved", 0), self.act("extended", 1)]
        assert self.open_after(ledger, *acts) == ["g1 extended"]

    def test_approved_grant_can_be_closed(self, ledger: Ledger) -> None:
        assert self.open_after(ledger, self.act("approved", 0), self.act("closed", 1)) == []

    def test_object_has_at_most_one_open_grant(self, ledger: Ledger) -> None:
        tried_again = [self.act("issued", 0, "g1"), self.act("issued", 0.001, "g2")]
        assert self.open_after(ledger, *tried_again) == ["g2 issued"]
        ledger.append(records_of(self.act("closed", 1, "g2"), writer="other"))
        assert ledger.open_grants("test", self.NOW) == []

    def test_open_grant_of_a_cluster_with_a_very_long_name_is_found(self, ledger: Ledger) -> None:
        cluster = "c" * 1000
        over = self.NOW + HOUR
        issued = an_attempt(cluster=cluster, grant="g1", grant_act="issued", grant_expires=over)
        ledger.append(records := records_of(issued))
        assert ledger.open_grants(cluster, self.NOW) == records


class TestGaps:
    def test_gaps_of_a_cluster_are_returned_newest_first(self, ledger: Ledger) -> None:
        first, second = a_gap(time=TIME), a_gap(time=TIME + HOUR)
        other = a_gap(cluster="other")
        ledger.append(records_of(an_opening(), first, an_attempt(), other, second, an_attempt()))
        assert [record.entry.id for record in ledger.gaps("test")] == [second.id, first.id]

    def test_ledger_without_gaps_returns_none(self, ledger: Ledger) -> None:
        ledger.append(records_of(an_opening(), an_attempt(actor="")))
        assert ledger.gaps("test") == []


class TestHeads:
    def test_each_chain_has_a_head(self, ledger: Ledger) -> None:
        one = records_of(an_opening(), an_attempt(), writer="one")
        other = records_of(an_opening(), writer="other")
        ledger.append([*one, *other])
        assert ledger.heads() == [head_of(one), head_of(other)]

    def test_head_never_moves_back(self, ledger: Ledger) -> None:
        records = records_of(an_attempt(), an_attempt())
        ledger.append(records[1:])
        ledger.append(records[:1])
        assert ledger.heads() == [head_of(records)]

    def test_head_is_the_last_record_of_a_batch(self, ledger: Ledger) -> None:
        records = records_of(an_attempt(), an_attempt())
        ledger.append(records[::-1])
        assert ledger.heads() == [head_of(records)]

    def test_opening_witnesses_the_heads_that_it_names(self, ledger: Ledger) -> None:
        one = records_of(an_attempt(), an_attempt(), writer="one")
        ledger.append(one)
        assert ledger.unwitnessed_heads() == [head_of(one)]
        other = records_of(an_opening(head_of(one)), writer="other")
        ledger.append(other)
        assert ledger.unwitnessed_heads() == [head_of(other)]

    def test_head_of_a_continued_chain_is_unwitnessed_again(self, ledger: Ledger) -> None:
        one = records_of(an_attempt(), an_attempt(), writer="one")
        ledger.append(one[:1])
        ledger.append(records_of(an_opening(head_of(one[:1])), writer="other"))
        ledger.append(one[1:])
        assert head_of(one) in ledger.unwitnessed_heads()

    def test_older_opening_does_not_undo_a_witness(self, ledger: Ledger) -> None:
        one = records_of(an_attempt(), an_attempt(), writer="one")
        ledger.append(one)
        ledger.append(records_of(an_opening(head_of(one)), writer="late"))
        ledger.append(records_of(an_opening(head_of(one[:1])), writer="early"))
        assert head_of(one) not in ledger.unwitnessed_heads()

    def test_opening_can_arrive_before_the_record_that_it_names(self, ledger: Ledger) -> None:
        """A spool is delivered late, and an import in any order."""
        one = records_of(an_attempt(), an_attempt(), writer="one")
        other = records_of(an_opening(head_of(one)), writer="other")
        ledger.append(other)
        assert ledger.heads() == [head_of(other)]
        ledger.append(one)
        assert ledger.unwitnessed_heads() == [head_of(other)]


class TestRows:
    def test_row_has_all_columns(self, ledger: Ledger) -> None:
        glass = {"grant": "g1", "grant_act": "issued", "grant_expires": TIME, "ticket": "INC-42"}
        changes = _changed("/spec/replicas", IMAGE, "/spec/replicas")
        records = records_of(an_opening(), an_attempt(**glass, changes=changes))
        ledger.append(records)
        for record, row in zip(records, ledger.rows("writer-1"), strict=True):
            assert row.columns == columns_of(record.entry)
            assert row.fields == fields_of(record.entry)
            assert (row.body, row.digest) == (record.body, record.digest)
            assert row.signature == record.signature

    def test_rows_of_a_chain_are_in_order(self, ledger: Ledger) -> None:
        records = records_of(*(an_attempt(time=TIME - number * HOUR) for number in range(12)))
        ledger.append(records[::-1])
        ledger.append(records_of(an_attempt(), writer="other"))
        assert [row.columns.sequence for row in ledger.rows("writer-1")] == [*range(1, 13)]
        assert [row.columns.sequence for row in ledger.rows("writer-1", 9)] == [10, 11, 12]
        assert list(ledger.rows("writer-1", 12)) == list(ledger.rows("nobody")) == []

    def test_rows_of_all_chains_are_ordered_by_time(self, ledger: Ledger) -> None:
        one = records_of(*(an_attempt(time=TIME + each * HOUR) for each in (5, 1, 3)), writer="one")
        other = records_of(*(an_attempt(time=TIME + each * HOUR) for each in (4, 0)), writer="b")
        ledger.append([*one, *other])
        hours = [(row.columns.time - TIME) // HOUR for row in ledger.rows_since()]
        assert hours == [0, 1, 3, 4, 5]

    def test_walk_can_begin_at_a_later_time(self, ledger: Ledger) -> None:
        ledger.append(
            records_of(*(an_attempt(time=TIME + each * MICROSECOND) for each in range(3)))
        )
        later = [row.columns.time for row in ledger.rows_since(TIME + MICROSECOND)]
        assert later == [TIME + MICROSECOND, TIME + 2 * MICROSECOND]

    def test_walk_is_not_disturbed_by_concurrent_appends(self, ledger: Ledger) -> None:
        records = records_of(*(an_attempt() for _ in range(5)))
        ledger.append(records)
        walked = []
        for row in ledger.rows_since():
            walked.append(row.body)
            if len(walked) == 2:
                ledger.append(records_of(an_attempt(time=TIME - HOUR), writer="other"))
        assert walked == [record.body for record in records]

    def test_row_is_found_by_its_id(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(an_attempt(), an_attempt()))
        row = ledger.find(records[1].entry.id)
        assert row is not None
        assert row.body == records[1].body
        assert ledger.find(an_attempt().id) is None

    def test_damaged_record_hides_no_other_record(self, ledger: Ledger, address: str) -> None:
        ledger.append(records := records_of(an_attempt(), an_attempt(), an_attempt()))
        Intruder(address).run("UPDATE record SET body = ? WHERE sequence = 2", values=[b"0"])
        with pytest.raises(RecordMalformed):
            ledger.ask(Question())
        found = [record_in(row).entry for row in ledger.find_rows(Question())]
        assert [type(entry) for entry in found] == [Attempt, Damaged, Attempt]
        assert [entry.id for entry in found] == [each.entry.id for each in records[::-1]]


class TestRemove:
    def test_remove_replaces_the_beginning_of_a_chain_by_a_tombstone(self, ledger: Ledger) -> None:
        records = records_of(*(an_attempt(name=f"web-{number}") for number in range(5)))
        ledger.append(records)
        [stone] = records_of(a_tombstone("writer-1", 3), writer="pruner")
        ledger.remove("writer-1", 3, [], stone)
        assert everything(ledger) == records[:2:-1]
        assert [row.columns.sequence for row in ledger.rows("writer-1")] == [4, 5]
        assert [row.body for row in ledger.rows("pruner")] == [stone.body]
        assert ledger.heads() == [head_of([stone]), head_of(records)]

    def test_removed_record_is_found_by_no_query(self, ledger: Ledger) -> None:
        ledger.append(records_of(an_attempt()))
        ledger.remove("writer-1", 1, [], *records_of(a_tombstone("writer-1", 1), writer="pruner"))
        asked = [{"field": "/spec/replicas"}, {"actor": "developer"}, {"namespace": "shop"}]
        assert not any(ledger.ask(Question(**each)) for each in asked)  # type: ignore[arg-type]

    def test_remove_keeps_the_listed_records(self, ledger: Ledger) -> None:
        records = records_of(*(an_attempt() for _ in range(5)))
        ledger.append(records)
        kept = (Kept(2, records[1].digest),)
        stones = records_of(a_tombstone("writer-1", 4, kept=kept), writer="pruner")
        ledger.remove("writer-1", 4, [2], *stones)
        assert [row.columns.sequence for row in ledger.rows("writer-1")] == [2, 5]
        assert ledger.ask(Question(field="/spec/replicas")) == [records[4], records[1]]

    def test_remove_can_keep_many_records(self, ledger: Ledger) -> None:
        ledger.append(records_of(*(an_attempt() for _ in range(3))))
        stones = records_of(a_tombstone("writer-1", 3), writer="pruner")
        ledger.remove("writer-1", 3, [2, *range(1000, 80_000)], *stones)
        assert [row.columns.sequence for row in ledger.rows("writer-1")] == [2]

    def test_completely_removed_chain_still_has_its_head(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(an_attempt(), an_attempt()))
        ledger.remove("writer-1", 2, [], *records_of(a_tombstone("writer-1", 2), writer="pruner"))
        assert head_of(records) in ledger.heads()

    def test_remove_does_not_change_other_chains(self, ledger: Ledger) -> None:
        ledger.append(records_of(an_attempt()))
        ledger.append(other := records_of(an_attempt(), writer="other"))
        ledger.remove("writer-1", 9, [], *records_of(a_tombstone("writer-1", 9), writer="pruner"))
        assert everything(ledger) == other

    def test_remove_with_a_misplaced_tombstone_removes_nothing(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(an_attempt()))
        ledger.append(records_of(an_opening(), writer="pruner"))
        [misplaced] = records_of(a_tombstone("writer-1", 1), writer="pruner")
        with pytest.raises(LedgerConflict):
            ledger.remove("writer-1", 1, [], misplaced)
        assert everything(ledger) == records

    def test_remove_under_an_unknown_hold_removes_nothing(self, ledger: Ledger) -> None:
        ledger.append(records := records_of(an_attempt()))
        ledger.hold(TestLegalHolds.HOLD)
        [stone] = records_of(a_tombstone("writer-1", 1), writer="pruner")
        with pytest.raises(HoldAdded, match="INC-42"):
            ledger.remove("writer-1", 1, [], stone)
        assert everything(ledger) == records
        ledger.remove("writer-1", 1, [], stone, held=["INC-41", "INC-42"])
        assert everything(ledger) == []

    def test_tombstone_can_be_in_the_chain_that_it_cuts(self, ledger: Ledger) -> None:
        chain = a_chain()
        chain.advance(records := chain.link([an_attempt(), an_attempt()]))
        ledger.append(records)
        [stone] = chain.link([a_tombstone("writer-1", 1)])
        ledger.remove("writer-1", 1, [], stone)
        assert [row.body for row in ledger.rows("writer-1")] == [records[1].body, stone.body]


class TestLegalHolds:
    HOLD = LegalHold("INC-42", TIME, "lead", "the auditors asked")

    def test_hold_is_in_force_until_it_is_released(self, opener: Opener) -> None:
        opener().hold(self.HOLD)
        ledger = opener()
        assert ledger.holds() == [self.HOLD]
        assert ledger.release("INC-42")
        assert ledger.holds() == []

    def test_ticket_without_a_hold_cannot_be_released(self, ledger: Ledger) -> None:
        ledger.hold(self.HOLD)
        assert not ledger.release("INC-4")
        assert ledger.holds() == [self.HOLD]

    def test_first_hold_on_a_ticket_is_kept(self, ledger: Ledger) -> None:
        ledger.hold(self.HOLD)
        ledger.hold(self.HOLD._replace(since=TIME - HOUR, by="somebody else"))
        assert ledger.holds() == [self.HOLD]

    def test_holds_are_returned_oldest_first(self, ledger: Ledger) -> None:
        later = LegalHold("A-1", TIME + MICROSECOND, "lead", "")
        ledger.hold(later)
        ledger.hold(self.HOLD)
        assert ledger.holds() == [self.HOLD, later]


def test_ledger_can_be_closed_twice(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
