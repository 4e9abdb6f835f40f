"""A write that bypassed the webhook is reported once, while its change may still be live."""

from dataclasses import replace
from typing import Any

import pytest

from correlator.attribution.link import Link, State
from correlator.audit.observed_write import (
    ObservationKind,
    ObservedWrite,
    evidence_of,
    select_lasting,
)
from correlator.finding import Finding
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from tests.correlator.attribution.builders import at

SETTINGS = Ref("", "v1", "ConfigMap", "shop", "settings", "u1")
SEEN = ObservedWrite(
    ObservationKind.EMERGENCY, at(4), SETTINGS, "patched it", "lead", "lead", "", "", "a1"
)
TOLD = Link(State.UNEXPLAINED, "bypassed", actor="lead", evidence=(evidence_of("a1"),))
BY_A_RECORD = Link(State.EXPLAINED, records=("r1",), actor="responder")
BY_NOBODY = Link(State.UNEXPLAINED, "no record changes this field")


def found(link: Link | None, field: str = "/data/payments", ref: Ref = SETTINGS) -> Finding:
    return Finding(ref, parse_path(field), "primary", "standby", None, "git", link=link)


@pytest.mark.parametrize(
    ("findings", "differing", "lasts"),
    [
        pytest.param([], {}, False, id="back as declared"),
        pytest.param([found(TOLD)], {}, False, id="told as a difference"),
        pytest.param([found(BY_A_RECORD)], {}, False, id="all that differs is another's"),
        pytest.param([found(BY_NOBODY)], {}, True, id="what differs may be its"),
        pytest.param([found(None)], {}, True, id="no ledger was asked"),
        pytest.param(
            [found(BY_NOBODY)], {"field": parse_path("/spec/replicas")}, False, id="another field"
        ),
        pytest.param([], {"sort": ObservationKind.GUARD}, True, id="the guard itself"),
        pytest.param(
            [found(BY_NOBODY, ref=replace(SETTINGS, name="other"))], {}, False, id="another object"
        ),
    ],
)
def test_observed_write_lasts_by_its_finding_if_git_was_compared(
    findings: list[Finding], differing: dict[str, Any], *, lasts: bool
) -> None:
    seen = replace(SEEN, **differing)
    assert bool(select_lasting([seen], findings, lambda _: True)) is lasts


@pytest.mark.parametrize(("link", "lasts"), [(TOLD, False), (BY_A_RECORD, True)])
def test_observed_write_lasts_unless_a_finding_names_it_if_git_was_not_compared(
    link: Link, *, lasts: bool
) -> None:
    assert bool(select_lasting([SEEN], [found(link)], lambda _: False)) is lasts
