"""What follows from a case is computed at most once per case, and one review makes one case."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from glasswarden.keys.folder import new_key
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.policy import case, decide, grants, holds, requests
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.case import Case, once_per_case
from glasswarden.policy.requests import intent_of
from tests.ledger.builders import KEYS
from tests.policy.builders import NOW, a_case, a_write
from tests.webhook.builders import Object, a_deployment, a_review
from tests.webhook.test_fuzz import Forgetful
from webhook.admission import Admission
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import PREFIX, GrantKeys, Rules

POLICY = """
apiVersion: glasswarden.io/v1
kind: Policy
mode: {mode}
breakGlass: {{rules: [{{name: all, users: [{user}], mostOpen: {{person: 3}}}}]}}
"""
MODULES = (case, decide, grants, holds, requests)


def is_derivation(function: object) -> bool:
    """Return whether *function* is one that `once_per_case` made."""
    sample = once_per_case(lambda _: None)
    return (
        isinstance(function, FunctionType)
        and isinstance(sample, FunctionType)
        and function.__code__ is sample.__code__
    )


DERIVATIONS: dict[CodeType, str] = {
    function.__wrapped__.__code__: name
    for module in MODULES
    for name, function in vars(module).items()
    if is_derivation(function)
}


class Computations:
    """Counts how often each derived value is computed, and how many decisions are made."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.decisions = 0

    def of(self, act: Callable[[], object]) -> "Computations":
        """Run *act* and count."""
        sys.setprofile(self._note)
        try:
            act()
        finally:
            sys.setprofile(None)
        return self

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call":
            return
        if frame.f_code is decide.decide.__code__:
            self.decisions += 1
        elif name := DERIVATIONS.get(frame.f_code):
            self.counts[name] += 1


class KnownSources:
    """Knows where every application is described."""

    def find_known(self, _owner: Owner) -> GitLocation:
        return GitLocation("https://git.example/shop.git", "deploy", "main")


class Desk:
    """Both webhooks, without an API server to read from."""

    def __init__(self, folder: Path, mode: str, user: str) -> None:
        file = folder / "policy.yaml"
        file.write_text(POLICY.format(mode=mode, user=user))
        new_key(folder, PREFIX, NOW)
        rules, reader = Rules(file), Reader(GrantKeys(folder))
        recorder = Recorder(InlineLink(Forgetful), "once", "test", KEYS)
        self._admission = Admission(
            rules,
            recorder,
            sources=KnownSources(),  # type: ignore[arg-type] # as far as it is used
            reader=reader,
            clock=lambda: NOW,
        )
        self._mutation = Mutation(rules, reader, clock=lambda: NOW)

    def validate(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a request
        answer = asyncio.run(self._admission.validate(a_review(**request)))
        response: dict[str, Any] = json.loads(answer)["response"]
        return response

    def mutate(self, **request: Any) -> None:  # noqa: ANN401 - any field of a request
        asyncio.run(self._mutation.mutate(a_review(**request)))


def asking() -> Object:
    made = a_deployment(replicas=5)
    made["metadata"]["annotations"] = {names.REASON: "checkout is down", names.TICKET: "INC-1"}
    return made


def test_derived_values_are_listed_by_name() -> None:
    assert {"intent_of", "live_grant", "rule_of", "cover_of", "grant_use", "mode_of"} <= set(
        DERIVATIONS.values()
    )


@pytest.mark.parametrize("mode", ["enforce", "warn", "audit"])
@pytest.mark.parametrize("request_", [{}, {"object": asking()}], ids=["an edit", "a request"])
def test_review_computes_each_value_once(
    tmp_path: Path, mode: str, request_: dict[str, Any]
) -> None:
    desk = Desk(tmp_path, mode, "somebody-else")
    desk.validate()  # what is read at first is read by now
    computed = Computations().of(lambda: desk.validate(**request_))
    assert computed.decisions == 1
    assert computed.counts["intent_of"] == 1
    assert set(computed.counts.values()) == {1}


def test_write_that_is_parsed_again_is_a_new_case(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "enforce", "developer")
    computed = Computations().of(desk.validate)
    assert computed.decisions == 2
    assert max(computed.counts.values()) == 2


def test_git_address_is_added_without_a_second_decision(tmp_path: Path) -> None:
    desk, answers = Desk(tmp_path, "enforce", "somebody-else"), []
    computed = Computations().of(lambda: answers.append(desk.validate()))
    assert computed.decisions == 1
    [answer] = answers
    assert (
        "Change it in https://git.example/shop.git at main, path deploy instead."
        in answer["status"]["message"]
    )


def test_stamping_computes_each_value_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "enforce", "somebody-else")
    computed = Computations().of(lambda: desk.mutate(object=asking()))
    assert computed.counts["intent_of"] == 1
    assert set(computed.counts.values()) == {1}


def test_each_case_has_its_own_derived_values() -> None:
    first = a_case(a_write())
    intent_of(first)
    assert first.derived
    assert not Case(first.write, first.policy, first.now).derived


def test_counting_open_grants_keeps_derived_values() -> None:
    first = a_case(a_write())
    intent_of(first)
    counted = first.with_open_grants(OpenGrants(2, 3))
    assert counted.derived == first.derived
    assert counted.write.glass.open == OpenGrants(2, 3)
    computed = Computations().of(lambda: intent_of(counted))
    assert not computed.counts
