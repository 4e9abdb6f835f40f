"""Tests of a policy, written by its owners: reviews, and the verdicts that they expect.

A file of them looks like this; nothing here reads files.

policy: policy.yaml          # beside this file; the built-in rules without it
cases:
- name: a developer's edit is denied
review: edit.json        # beside this file
expect: {verdict: deny, clause: guard}
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from glasswarden.policy.decide import Explanation
from glasswarden.policy.decision import Clause, Verdict
from glasswarden.policy.messages import render_denial, render_warnings
from glasswarden.policy.types import Mode


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be true of the verdict; what is left out may be anything."""

    verdict: Verdict
    clause: Clause | None = None
    mode: Mode | None = None
    engine: str | None = None
    application: str | None = None
    says: str | None = None
    """Text that the message or a warning contains."""


class ExpectedReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One review, with what is expected of the policy."""

    name: Annotated[str, Meta(min_length=1)]
    review: str
    """The file with the AdmissionReview, relative to the file that names it."""
    expect: Expectation
    parent: str | None = None
    """For a review of `scale`: the file with the object that is scaled."""


class ExpectationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of cases."""

    cases: Annotated[tuple[ExpectedReview, ...], Meta(min_length=1)]
    policy: str | None = None


def find_mismatches(expected: Expectation, found: Explanation) -> list[str]:
    """Return in which ways *found* is not as *expected*."""
    decision, case = found.decision, found.case
    owner = case.write.owner
    rows = (
        ("verdict", expected.verdict, decision.verdict),
        ("clause", expected.clause, decision.clause),
        ("mode", expected.mode, found.mode),
        ("engine", expected.engine, owner.engine if owner else None),
        ("application", expected.application, owner.app if owner else None),
    )
    wrong = [
        f"{name} is {actual or 'none'}, expected {wanted}"
        for name, wanted, actual in rows
        if wanted is not None and wanted != actual
    ]
    if expected.says is not None:
        text = "\n".join([render_denial(decision, case), *render_warnings(decision, case)])
        wrong += [] if expected.says in text else [f"nothing says {expected.says!r}"]
    return wrong
