"""No sequence of writes by people yields a live grant that the rules would not give.

People write whatever they like, with every token they have ever seen, while the mutating webhook
comes and goes, keys are rotated, objects are deleted and made anew, Git brings old tokens back and
time passes, in every mode. What is then in force on any object is judged by a second reading of the
rules, one that knows nothing of how grants are issued.
"""

import re
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from glasswarden.keys.ring import Key, Ring
from glasswarden.kube.objects import metadata_of
from glasswarden.policy.breakglass.tokens import Act, Stamp
from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.types import Actor
from tests.policy.breakglass.builders import KEY, LEAD, OUTSIDER, RESPONDER, SECOND
from tests.policy.builders import DEVELOPER, FLUX_CONTROLLER, NOW, a_policy
from tests.webhook.model import Texts, a_deployment, a_namespace, a_server
from tests.webhook.test_breakglass import KUSTOMIZE, POLICY

PEOPLE = (RESPONDER, SECOND, DEVELOPER, LEAD, OUTSIDER)
OBJECTS = ("web", "api", "shop")
VALUES = {
    "reason": ("checkout is down for everybody", "another good reason", "short"),
    "ticket": ("INC-42", "INC-43", "CHG-7", "nonsense"),
    "ttl": ("1s", "10m", "1h", "4h", "9h", "soon"),
    "outcome": ("reverted",),
    "approval": ("pending", "granted"),
}
CAREFUL = """
    - name: careful
      groups: [responders]
      names: [api]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 1h}
      operations: [update]
      closed: [/spec/replicas]
"""
RULES = POLICY.replace("  rules:\n", f"  rules:{CAREFUL}", 1)
"""A rule for api comes before the one for all that is in its Namespace."""

MOST = 2
"""How many grants the rule for all of them gives one person at once."""

GIVEN = {
    # rule: who may have it, which tickets, for how long, and who must have agreed
    "responders": ({RESPONDER.name, SECOND.name}, r"INC-[0-9]+", timedelta(hours=4), set()),
    "careful": ({RESPONDER.name, SECOND.name}, r"INC-[0-9]+", timedelta(hours=1), set()),
    "developers": ({DEVELOPER.name}, r"(INC|CHG)-[0-9]+", timedelta(hours=1), {LEAD.name}),
}

people = st.sampled_from(PEOPLE)
askers = st.sampled_from((RESPONDER, RESPONDER, SECOND, DEVELOPER, OUTSIDER))
objects = st.sampled_from(("web", "web", *OBJECTS))
numbers = st.integers(0, 10_000)


def written(names: tuple[str, ...] = tuple(VALUES)) -> st.SearchStrategy[dict[str, str | None]]:
    """Return some of our annotations, with values of their own or taken off."""
    either = {name: st.none() | st.sampled_from(VALUES[name]) for name in names}
    return st.fixed_dictionaries({}, optional=either)


def words(actor: Actor, ttl: str) -> Texts:
    """Return what *actor* would have to write to be given a grant."""
    ticket = "CHG-7" if actor is DEVELOPER else "INC-42"
    return {"reason": VALUES["reason"][0], "ticket": ticket, "ttl": ttl}


class People(RuleBasedStateMachine):
    """Everything that people and time can do."""

    def __init__(self) -> None:
        super().__init__()
        self.enforced = True
        self.server = a_server(a_policy(RULES))
        self.current: dict[str, str] = {}
        """The grant that was in force on an object when it was last looked at."""
        self.ended: set[tuple[str, str]] = set()
        self.tokens: list[tuple[Actor, Texts]] = []
        """All that ever stood on an object, or that a dry run showed, with who wrote it."""
        self.keys = {KEY.id: KEY}
        self.made = 0

    @initialize(mode=st.sampled_from(("enforce", "enforce", "warn", "audit")))
    def choose(self, mode: str) -> None:
        self.enforced = mode == "enforce"
        self.server.policy = a_policy(f"mode: {mode}\n{RULES}")

    @rule(actor=askers, name=objects, ttl=st.sampled_from(("10m", "10m", "1h", "9h")))
    def ask(self, actor: Actor, name: str, ttl: str) -> None:
        self._update(actor, name, texts=words(actor, ttl))

    @rule(actor=askers, name=objects)
    def try_out(self, actor: Actor, name: str) -> None:
        self._update(actor, name, texts=words(actor, "10m"), dry_run=True)

    @rule(actor=askers, name=objects)
    def close(self, actor: Actor, name: str) -> None:
        self._update(actor, name, texts={"reason": None})

    @rule(actor=people, name=objects, texts=written(), number=numbers, away=st.booleans())
    def write(self, actor: Actor, name: str, texts: Texts, number: int, *, away: bool) -> None:
        spec = {"replicas": number} if number % 2 else None
        self._update(actor, name, texts=texts, spec=spec, away=away)

    @rule(
        actor=people,
        name=objects,
        texts=written(),
        number=numbers,
        into=st.sampled_from(("grant", "request")),
        dry_run=st.booleans(),
    )
    def forge(
        self,
        actor: Actor,
        name: str,
        texts: dict[str, str | None],
        number: int,
        into: str,
        dry_run: bool,  # noqa: FBT001 - a choice
    ) -> None:
        seen = self.server.seen
        token = seen[number % len(seen)] if seen else "made up"
        self._update(actor, name, texts={**texts, into: token}, dry_run=dry_run)

    @rule(
        actor=st.sampled_from((None, None, *PEOPLE)),
        name=objects,
        number=numbers,
        away=st.booleans(),
    )
    def replay(self, actor: Actor | None, name: str, number: int, *, away: bool) -> None:
        """Bring back what once stood somewhere, as who wrote it or as another."""
        if not self.tokens:
            return
        writer, texts = self.tokens[number % len(self.tokens)]
        self._update(actor or writer, name, texts=texts, away=away)

    @rule(actor=people, name=objects)
    def approve(self, actor: Actor, name: str) -> None:
        request = self.server.annotations(name).get("request", "x:").partition(":")[0]
        self._update(actor, name, texts={"approve": request})

    @rule(actor=people, name=objects, what=st.sampled_from(("grant", "request")))
    def take_off(self, actor: Actor, name: str, what: str) -> None:
        self._update(actor, name, texts={what: None})

    @rule(actor=people, name=st.sampled_from(("web", "api")), number=numbers)
    def scale(self, actor: Actor, name: str, number: int) -> None:
        before = self.server.live(name) or self.server.live("shop")
        decision = self.server.scale(actor, number, name)
        used = decision.clause is Clause.BREAKGLASS
        assert before is not None or not used
        assert not used or name != "api"  # its own rule does not name it
        assert used or not self.enforced or not decision.allowed or decision.clause is Clause.NOISE
        self._look(name, decision)

    @rule(name=objects)
    def terminate(self, name: str) -> None:
        self.server.terminate(name)

    @rule(actor=people, name=objects)
    def delete(self, actor: Actor, name: str) -> None:
        """No rule names it; whatever a mode lets go is made anew."""
        decision = self.server.delete(actor, name)
        assert decision.clause is not Clause.BREAKGLASS
        if decision.allowed:
            self._make_anew(name)

    @rule(name=st.sampled_from(("web", "api")))
    def prune(self, name: str) -> None:
        live = self.server.live(name)
        terminating = "deletionTimestamp" in metadata_of(self.server.objects[name])
        decision = self.server.delete(FLUX_CONTROLLER, name)
        held = live is not None and not live.namespace and not terminating
        assert not held or decision.clause is Clause.HELD
        if decision.allowed:
            self._make_anew(name)

    @rule(name=st.sampled_from(("web", "api")), number=numbers, away=st.booleans())
    def bring_back(self, name: str, number: int, *, away: bool) -> None:
        """Have Git declare what once stood somewhere."""
        if self.tokens:
            _, texts = self.tokens[number % len(self.tokens)]
            self._update(FLUX_CONTROLLER, name, texts=texts, away=away, manager=KUSTOMIZE)

    @rule(actor=people, name=st.sampled_from(("web", "api")), away=st.booleans())
    def disown(self, actor: Actor, name: str, *, away: bool) -> None:
        self.server.up = not away
        self._look(name, self.server.disown(actor, name))

    @rule(name=st.sampled_from(("web", "api")), number=numbers, drop=st.booleans())
    def reconcile(self, name: str, number: int, *, drop: bool) -> None:
        texts = dict.fromkeys(self.server.annotations(name)) if drop else {}
        spec = {"replicas": number}
        self._update(FLUX_CONTROLLER, name, texts=texts, spec=spec, manager=KUSTOMIZE)

    @rule(seconds=st.sampled_from((1, 60, 599, 600, 3600, 4 * 3600)))
    def wait(self, seconds: int) -> None:
        self.server.pass_(seconds=seconds)
        for name in OBJECTS:
            self._look(name)

    @rule(number=st.integers(1, 3))
    def rotate(self, number: int) -> None:
        newer = Key(f"2026030{number}T000000Z", bytes([number]) * 32, self.server.now)
        self.keys.setdefault(newer.id, newer)
        self.server.ring = Ring(self.keys.values())

    def _update(
        self,
        actor: Actor,
        name: str,
        *,
        texts: Texts,
        spec: dict[str, int] | None = None,
        dry_run: bool = False,
        away: bool = False,
        manager: str = "kubectl-edit",
    ) -> None:
        self.server.up = not away
        before = self.server.live(name) or self.server.live("shop")
        decision = self.server.update(
            actor, name, texts=texts, spec=spec, dry_run=dry_run, manager=manager
        )
        if decision.clause is Clause.BREAKGLASS:
            token = {"grant": self.server.seen[-1]} if dry_run and self.server.seen else {}
            stands = {} if dry_run else self.server.annotations(name)
            self.tokens.append((actor, {**texts, **stands, **token}))
        if decision.clause is Clause.BREAKGLASS and decision.grant is not None:
            used = decision.grant.act is Act.USED
            assert before is not None or not used
        self._look(name, decision)

    def _make_anew(self, name: str) -> None:
        self.made += 1
        whole = a_namespace() if name == "shop" else a_deployment(name, "")
        whole["metadata"]["uid"] = f"{name}-{self.made}"
        self.server.put(whole)
        self._look(name)

    def _look(self, name: str, decision: Decision | None = None) -> None:
        """Take down which grants are over, and that none of them ever comes back."""
        live = self.server.live(name)
        was = self.current.pop(name, None)
        if was is not None and (live is None or live.id != was):
            self.ended.add((name, was))
        if live is not None and not live.namespace:
            assert (name, live.id) not in self.ended, decision
            self.current[name] = live.id

    @invariant()
    def every_live_grant_is_one_that_the_rules_give(self) -> None:
        for name in OBJECTS:
            live = self.server.live(name)
            if live is not None:
                self._judge(live, name)

    @invariant()
    def nobody_has_more_than_the_rule_gives(self) -> None:
        live = filter(None, map(self.server.live, OBJECTS))
        own = [each.actor for each in live if each.rule == "responders" and not each.namespace]
        assert all(own.count(actor) <= MOST for actor in own)

    @invariant()
    def what_stays_closed_is_never_held(self) -> None:
        """On api, where people change the replicas under no grant at all."""
        live = self.server.live("api")
        assert not self.enforced or live is None or "/spec/replicas" not in live.held

    def _judge(self, live: Stamp, name: str) -> None:
        who, ticket, longest, approvers = GIVEN[live.rule]
        assert live.actor in who
        assert re.fullmatch(ticket, live.ticket)
        assert live.expires - live.start <= longest
        assert NOW <= live.start <= self.server.now < live.expires
        assert live.uid == metadata_of(self.server.objects[name])["uid"]
        assert {live.approver} == (approvers or {""})
        assert not live.trial


def test_random_sequences_of_writes_yield_no_undue_grant() -> None:
    run_state_machine_as_test(
        People, settings=settings(max_examples=100, stateful_step_count=30, deadline=None)
    )


@pytest.mark.e2e
def test_long_random_sequences_of_writes_yield_no_undue_grant() -> None:
    run_state_machine_as_test(
        People, settings=settings(max_examples=1500, stateful_step_count=50, deadline=None)
    )
