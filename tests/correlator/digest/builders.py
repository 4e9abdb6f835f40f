"""A week, and the one before it."""

from datetime import timedelta
from typing import Any

from correlator.attribution.link import Link
from correlator.attribution.link import State as Linked
from correlator.digest.compose import Episode, Period, ReviewEvidence, compose_review
from correlator.digest.model import Ignore, Review
from correlator.episodes.episode import FieldKey
from correlator.finding import Cause, Class, Finding, Response, Verdict
from correlator.grants import grants_of
from correlator.still_live import Answer, FieldState
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.record import Attempt
from tests.correlator.attribution.builders import at, wrote
from tests.correlator.report.builders import HOSTILE

REPLICAS = "/spec/replicas"
WEEK = 7 * 24 * 60
NOW = at(WEEK)
PERIOD = Period(at(0), NOW)
OWNER = Owner("flux", "shop", "flux-system", "Kustomization")


def granted(minute: float, **differing: Any) -> Attempt:  # noqa: ANN401 - any field
    fields = {
        "grant": "g1",
        "grant_act": "used",
        "grantee": "responder",
        "grant_expires": at(minute + 30),
        "ticket": "INC-42",
        "reason": "checkout is down",
    }
    return wrote(minute, differing.pop("path", REPLICAS), **fields | {"app": "shop"} | differing)


def week() -> list[Attempt]:
    """Return what happened in two weeks, oldest first."""
    return [
        wrote(-WEEK + 5, REPLICAS, old=3, new=4, app="shop", actor="developer"),
        wrote(10, REPLICAS, old=3, new=9, app="shop", actor="developer", verdict="deny"),
        granted(20, old=3, new=8, grant_act="issued"),
        granted(90, old=3, new=8),
        granted(100, path="/spec/paused", new=True),
        wrote(200, "/data/mode", app="billing", kind="ConfigMap", name="settings", new="x"),
        wrote(300, "/", app="billing", changes=(), operation="UPDATE"),
    ]


def a_finding(path: str = REPLICAS, why: str = "", **differing: Any) -> Finding:  # noqa: ANN401
    declared: Value = differing.pop("declared", 3)
    state = Linked.UNEXPLAINED if why else Linked.EXPLAINED
    response = differing.pop("response", Response.ALERT)
    verdict = Verdict(Class.DESIRED_CONFIGURATION, Cause.PERSON, response, "", "")
    fields: dict[str, Any] = {
        "ref": Ref("apps", "v1", "Deployment", "shop", "web"),
        "field": parse_path(path),
        "declared": declared,
        "live": 8,
        "since": None,
        "source": "git",
        "owner": OWNER,
        "verdict": verdict,
        "link": Link(state, why),
    }
    return Finding(**fields | differing)


def an_episode(minute: float, **differing: str) -> Episode:
    names = {"cluster": "test", "group": "apps", "kind": "Deployment"}
    names |= {"namespace": "shop", "name": "web", "field": REPLICAS}
    place = FieldKey(**names | differing)
    return Episode(place, "shop", "storefront", at(minute))


def seen(**differing: Any) -> ReviewEvidence:  # noqa: ANN401 - any field
    stands = FieldState(Answer.YES, Answer.NO)
    fields: dict[str, Any] = {
        "grants": grants_of([each for each in week() if each.grant], lambda *_: stands),
        "findings": [
            a_finding(),
            a_finding("/spec/paused", "no record changes this field since recording began"),
            a_finding("/", declared=ABSENT, response=Response.PRUNE),
            a_finding("/metadata/labels/x", response=Response.IGNORE),
        ],
        "ignores": [
            Ignore(
                whose="argocd shop",
                what="Deployment */*: /spec/replicas",
                covers=1,
                since=at(-2 * WEEK),
            ),
            Ignore(whose="the policy", what="autoscaler: /spec/replicas", covers=0),
        ],
        "teams": {"shop": "by a label", "billing": "payments"},
        "episodes": [an_episode(-60), an_episode(5), an_episode(30), an_episode(60)],
        "unknown": ("Since when some rules leave differences alone: nothing tells.",),
    }
    return ReviewEvidence(**fields | differing)


def the_review(**differing: Any) -> Review:  # noqa: ANN401 - any field of what was seen
    return compose_review(PERIOD, week(), seen(**differing), NOW)


def a_hostile_review() -> Review:
    """Return a review in which every text that people choose tries to be something else."""
    mine = {"actor": HOSTILE, "ticket": HOSTILE, "reason": HOSTILE, "name": HOSTILE}
    writes = [
        granted(minute, path=f"/data/{HOSTILE.replace('/', '~1')}", app=HOSTILE, **mine)
        for minute in (10, 20)
    ]
    stands = FieldState(Answer.YES, Answer.NO)
    ref = Ref("", "v1", "ConfigMap", "shop", HOSTILE)
    looked = seen(
        grants=grants_of(writes, lambda *_: stands),
        findings=[a_finding(why=HOSTILE, ref=ref), a_finding("/", declared=ABSENT, ref=ref)],
        ignores=[Ignore(whose=HOSTILE, what=HOSTILE, covers=0)],
        unknown=(HOSTILE,),
    )
    return compose_review(PERIOD, writes, looked, NOW + timedelta(days=1))
