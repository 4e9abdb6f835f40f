"""Findings that were not inspected are not closed."""

import pytest

from correlator.finding import Class, Hidden, Incomplete
from correlator.live.source import Kind, KindUnavailable
from correlator.service.passes import is_doubted
from tests.correlator.episodes.builders import a_sighting

ORPHAN = {"class_": Class.ORPHAN, "field": "/", "declared": ""}
ADDED = {"declared": ""}


def unlisted(kind: str) -> Incomplete:
    return KindUnavailable(Kind("apps", "v1", kind), "no right to list it").incomplete


CASES = [
    pytest.param(Incomplete("web.yaml, line 3", "not YAML"), {}, True, id="a broken manifest"),
    pytest.param(unlisted("Deployment"), {}, True, id="kind of the finding not listed"),
    pytest.param(unlisted("StatefulSet"), {}, False, id="another kind not listed"),
    pytest.param(
        Incomplete("orphans", "", Hidden.ORPHANS), ORPHAN, True, id="orphans hidden, an orphan"
    ),
    pytest.param(
        Incomplete("orphans", "", Hidden.ORPHANS), {}, False, id="orphans hidden, no orphan"
    ),
    pytest.param(
        Incomplete("orphans", "", Hidden.ORPHANS, ("Secret",)),
        ORPHAN,
        False,
        id="orphans of another kind hidden",
    ),
    pytest.param(
        Incomplete("additions", "", Hidden.ADDITIONS),
        ADDED,
        True,
        id="additions hidden, an addition",
    ),
    pytest.param(
        Incomplete("additions", "", Hidden.ADDITIONS),
        {},
        False,
        id="additions hidden, a declared field",
    ),
    pytest.param(Incomplete("declared twice", "", Hidden.NONE), {}, False, id="nothing hidden"),
]


@pytest.mark.parametrize(("incomplete", "differences", "doubted"), CASES)
def test_finding_covered_by_an_incomplete_part_is_doubted(
    incomplete: Incomplete, differences: dict[str, str], *, doubted: bool
) -> None:
    assert is_doubted(a_sighting(**differences), [incomplete]) is doubted


def test_finding_is_not_doubted_in_a_complete_pass() -> None:
    assert not is_doubted(a_sighting(), [])
