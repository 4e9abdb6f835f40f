"""Every question walks an index, newest first, and opens no month that it need not."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import psycopg
import pytest

from glasswarden.ledger.open import migrate_ledger, open_ledger
from glasswarden.ledger.postgres.driver import _AFTER, _CHAIN, Values
from glasswarden.ledger.postgres.session import parameters_of
from glasswarden.ledger.postgres.storage import OPEN_GRANTS, first_id_of, statement_of
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt, ChangedField
from tests.ledger.builders import an_attempt, records_of
from tests.postgres_server import new_database

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

RECORDS = 48_000
FIRST = datetime(2019, 1, 1, tzinfo=UTC)
LAST = datetime(2019, 6, 1, tzinfo=UTC)
STEP = (datetime(2019, 7, 1, tzinfo=UTC) - FIRST) / RECORDS
IMAGE = "/spec/template/spec/containers[name=app]/image"


def attempt(number: int) -> Attempt:
    """Return one of many: objects and people recur, tickets and grants are rare."""
    rare = number % 400 == 0
    return an_attempt(
        time=FIRST + number * STEP,
        namespace=f"team-{number % 40}",
        name=f"web-{number % 600}",
        kind="ClusterRole" if number % 4000 == 0 else "Deployment",
        cluster="tiny" if number % 5000 == 0 else "large",
        actor=f"person-{number % 300}",
        app=f"app-{number % 120}",
        verdict="deny" if number % 50 == 0 else "allow",
        ticket=f"INC-{number // 400}" if rare else "",
        grant=f"grant-{number // 400}" if rare else "",
        grant_act="issued" if rare else "",
        grant_expires=FIRST + number * STEP + timedelta(hours=1) if rare else None,
        changes=(ChangedField(path="/spec/suspend" if number % 3000 == 0 else IMAGE),),
    )


@pytest.fixture(scope="module")
def watch(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Return a connection to half a year of records."""
    with new_database(postgres_url) as url:
        migrate_ledger(url)
        with closing(open_ledger(url)) as ledger:
            records = records_of(*map(attempt, range(RECORDS)))
            for start in range(0, RECORDS, 1000):
                ledger.append(records[start : start + 1000])
        with psycopg.connect(**parameters_of(url), autocommit=True) as connection:  # type: ignore[arg-type]
            connection.execute("SET statement_timeout = 0")
            connection.execute("VACUUM ANALYZE")
            yield connection


class Plan(NamedTuple):
    """What of a plan matters here."""

    nodes: set[str]
    indexes: set[str]
    """Without the month: `record_actor` of `record_2019_03_actor_id_idx`."""
    months: set[str]
    executed: set[str]
    """The months that were opened at all."""


def plan_of(watch: psycopg.Connection[Any], statement: str, values: Values) -> Plan:
    explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}".encode()
    [[found]] = watch.execute(explained, values).fetchone() or [[{}]]
    nodes = [*walk(found["Plan"])]
    of_records = [node for node in nodes if node.get("Alias", "").startswith("record")]
    indexes = {node["Index Name"] for node in nodes if "Index Name" in node}
    return Plan(
        {node["Node Type"] for node in nodes},
        {name[len("record_2019_01_") :] for name in indexes},
        {node["Relation Name"][-7:] for node in of_records if "Relation Name" in node},
        {
            node["Relation Name"][-7:]
            for node in of_records
            if node["Actual Loops"] and "Relation Name" in node
        },
    )


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from walk(below)


PAGE = 20
WALKED: dict[str, tuple[dict[str, object], str]] = {
    "the newest": ({}, "pkey"),
    "an object": ({"namespace": "team-7", "name": "web-7", "kind": "Deployment"}, "namespace_name"),
    "a field of an object": (
        {"namespace": "team-7", "name": "web-7", "field": IMAGE},
        "namespace_name",
    ),
    "what is below a field of an object": (
        {"namespace": "team-7", "name": "web-7", "field": "/spec/template"},
        "namespace_name",
    ),
    "an actor": ({"actor": "person-5"}, "actor"),
    "an application": ({"app": "app-3", "engine": "flux"}, "app_id"),
    "what was denied": ({"verdict": "deny"}, "id_idx"),
    "what was granted": ({"granted": True}, "id_idx"),
}


@pytest.mark.parametrize(("asked", "index"), WALKED.values(), ids=WALKED)
def test_query_for_a_common_value_scans_newest_first(
    watch: psycopg.Connection[Any], asked: dict[str, Any], index: str
) -> None:
    plan = plan_of(watch, *statement_of(Question(**asked, limit=PAGE)))
    assert not {"Seq Scan", "Sort", "Merge Append"} & plan.nodes
    assert all(name.startswith(index) for name in plan.indexes), plan.indexes
    assert "2019_01" not in plan.executed


FOUND: dict[str, tuple[dict[str, object], set[str]]] = {
    "a ticket": ({"ticket": "INC-7"}, {"ticket_id_idx"}),
    "a grant": ({"grant": "grant-7"}, {"grant_id_idx"}),
    "a field that rarely changes": ({"field": "/spec/suspend"}, {"field_keys_idx"}),
    "a rare kind": ({"kind": "ClusterRole"}, {"kind_idx"}),
    "a small cluster": ({"cluster": "tiny"}, {"cluster_idx"}),
    # The second index that begins alike: a partition names its indexes after their columns.
    "an actor's denied writes": ({"actor": "person-50", "verdict": "deny"}, {"actor_id_idx1"}),
    "nobody": ({"actor": "nobody"}, {"actor_id_idx"}),
}


@pytest.mark.parametrize(("asked", "indexes"), FOUND.values(), ids=FOUND)
def test_query_for_a_rare_value_uses_its_index(
    watch: psycopg.Connection[Any], asked: dict[str, Any], indexes: set[str]
) -> None:
    plan = plan_of(watch, *statement_of(Question(**asked, limit=PAGE)))
    assert "Seq Scan" not in plan.nodes
    filled = {f"2019_0{month}" for month in range(1, 7)}
    assert plan.months >= filled
    assert indexes <= plan.indexes


BOUNDS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "one month": (
        {"since": FIRST.replace(month=3), "until": FIRST.replace(month=4) - timedelta(hours=1)},
        {"2019_03"},
    ),
    "across two": (
        {"since": FIRST.replace(month=2, day=20), "until": FIRST.replace(month=3, day=2)},
        {"2019_02", "2019_03"},
    ),
}


@pytest.mark.parametrize(("bounds", "months"), BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("asked", [{}, {"actor": "person-5"}, {"field": "/spec/suspend"}], ids=str)
def test_query_with_time_bounds_skips_other_partitions(
    watch: psycopg.Connection[Any],
    asked: dict[str, Any],
    bounds: dict[str, Any],
    months: set[str],
) -> None:
    plan = plan_of(watch, *statement_of(Question(**asked, **bounds, limit=PAGE)))
    assert plan.months == months
    assert "Seq Scan" not in plan.nodes


def test_next_page_begins_where_the_last_one_ended(watch: psycopg.Connection[Any]) -> None:
    question = Question(actor="person-5", before=first_id_of(FIRST.replace(month=3)), limit=PAGE)
    plan = plan_of(watch, *statement_of(question))
    assert plan.months == {"2019_01", "2019_02"}
    assert plan.executed == {"2019_02"}


def test_open_grants_are_found_by_the_index_of_their_expiry(watch: psycopg.Connection[Any]) -> None:
    plan = plan_of(watch, OPEN_GRANTS, ["large", LAST])
    assert "Seq Scan" not in plan.nodes
    of_grants = {"grant_expires_idx", "grant_id_idx", "id_idx2"}
    assert plan.indexes <= {*of_grants, "namespace_name_id_idx"}


def test_chain_is_read_by_the_index_of_its_sequence_numbers(watch: psycopg.Connection[Any]) -> None:
    plan = plan_of(watch, _CHAIN, {"writer": "writer-1", "first": 101, "through": 2**63 - 1})
    assert not {"Seq Scan", "Sort"} & plan.nodes
    assert plan.indexes == {"hashtextextended_sequence_idx"}


def test_walk_through_all_records_pages_by_id(watch: psycopg.Connection[Any]) -> None:
    plan = plan_of(watch, _AFTER, [first_id_of(FIRST.replace(month=2)), FIRST])
    assert not {"Seq Scan", "Sort"} & plan.nodes
    assert plan.executed == {"2019_02"}
