"""A case: one write, with the policy that decides about it and the time at which it does.

What follows from these three (what the writer wants, which rule applies, which grant is in force)
is derived by functions of the case, marked `once_per_case`. Each is computed when it is first asked
for and never again, so clauses, messages and stamps all go by the same values. Pure.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Any, Final, TypeVar

import msgspec

from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.policy import Policy
from glasswarden.policy.types import Mode
from glasswarden.policy.write import Write

T = TypeVar("T")

_MISSING: Final = object()


class Case(msgspec.Struct, frozen=True, eq=False):
    """A write to be decided by a policy at a time. For another write, make another case."""

    write: Write
    policy: Policy
    now: datetime
    derived: dict[Callable[["Case"], Any], Any] = {}
    """What was derived so far, by the function that computed it: each case has its own."""

    def with_open_grants(self, open_grants: OpenGrants) -> "Case":
        """Return the case of the same write, with how many grants are open already.

        Keeps what was derived before the grants were counted: only a judgement of a request or of
        an approval depends on their number.
        """
        glass = replace(self.write.glass, open=open_grants)
        counted = Case(replace(self.write, glass=glass), self.policy, self.now)
        counted.derived.update(self.derived)
        return counted


def once_per_case(compute: Callable[[Case], T]) -> Callable[[Case], T]:
    """Have what *compute* returns for a case computed once, and kept with the case."""

    @wraps(compute)
    def derive(case: Case) -> T:
        found = case.derived.get(compute, _MISSING)
        if found is _MISSING:
            found = case.derived[compute] = compute(case)
        value: T = found
        return value

    return derive


def is_guarded(case: Case) -> bool:
    """Return whether GitOps has a say in the object that is written to."""
    return case.policy.guards(case.write)


def is_by_reconciler(case: Case) -> bool:
    """Return whether the reconciler that the object belongs to writes."""
    owner = case.write.owner
    return owner is not None and case.policy.trusts(case.write.actor, owner)


@once_per_case
def mode_of(case: Case) -> Mode:
    """Return what the policy does with denied writes to the object."""
    return case.policy.mode_of(case.write)
