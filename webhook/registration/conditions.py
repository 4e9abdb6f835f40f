"""Which writes the webhook is called for, as conditions in CEL that the API server evaluates.

A condition that fails to evaluate denies the write, as an unavailable webhook does: none may read
what a request or an object may lack.
"""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark
from glasswarden.kube.engines.registry import SWITCHES
from glasswarden.policy.breakglass import names
from glasswarden.policy.matching import names_of
from glasswarden.policy.policy import KUBERNETES, Policy
from webhook.registration import cel

_USER: Final = "request.userInfo.username"


def is_guarded(policy: Policy) -> str:
    """Return the condition that the old or the new object is one that the guard decides about."""
    signs = cel.any_of(_signs(engine) for engine in policy.engines)
    tests = [_old_or_new(signs), steers(policy), breaks_glass()]
    if policy.reserved:
        tests.append(_is_reserved(policy))
    return cel.any_of(tests)


def steers(policy: Policy) -> str:
    """Return the condition that the object is a reconciler's own, of an engine that counts."""
    return cel.any_of(
        f"request.kind.group == {cel.text(group)} && request.kind.kind in {cel.list_of(kinds)}"
        for engine in policy.engines
        for group, kinds in engine.kinds.items()
    )


def _is_reserved(policy: Policy) -> str:
    """Return the condition that the object is in a reserved namespace, or is that Namespace."""
    # A request for a cluster-scoped object has no namespace (but one for a Namespace has its own),
    # and a condition that fails is as bad as a webhook that does: the write would be denied.
    reserved = cel.is_among("request.namespace", policy.reserved)
    return cel.all_of(["has(request.namespace)", reserved])


def breaks_glass() -> str:
    """Return the condition that a reason or a stamp is, or was, on the object."""
    marks = (Mark("annotation", name) for name in (names.REASON, names.GRANT))
    return _old_or_new(cel.any_of(cel.carries("o", mark) for mark in marks))


def was_granted() -> str:
    """Return the condition that a stamp was on the object, where there was one before."""
    return cel.carries("oldObject", Mark("annotation", names.GRANT))


def is_by_trusted(policy: Policy) -> str:
    """Return the condition that the writer is a reconciler where it may write."""
    own = is_by_own_controller(policy)
    if not policy.reserved:
        return own
    anybodys = cel.any_of(_old_or_new(_signs(engine)) for engine in policy.engines)
    users = cel.any_of(
        cel.is_among(_USER, policy.controllers[engine.name])
        for engine in policy.engines
        if policy.controllers[engine.name]
    )
    return cel.any_of([own, cel.all_of([_is_reserved(policy), users, f"!({anybodys})"])])


def is_by_own_controller(policy: Policy) -> str:
    """Return the condition that the writer reconciles for the engine whose mark the object carries.

    Another engine's controller is not trusted here: two engines that fight over an object are seen.
    """
    return cel.any_of(
        cel.all_of([cel.is_among(_USER, policy.controllers[engine.name]), _owned_by(engine)])
        for engine in policy.engines
        if policy.controllers[engine.name]
    )


def _owned_by(engine: Engine) -> str:
    own = f"request.kind.group in {cel.list_of(engine.kinds)}"
    return cel.any_of([_old_or_new(_signs(engine)), own])


def not_exempt(policy: Policy) -> dict[str, str]:
    """Return the conditions that exclude the users who are exempt."""
    group = cel.text(policy.document.emergency_group)
    conditions = {
        "not-emergency": (f"!(has(request.userInfo.groups) && {group} in request.userInfo.groups)"),
    }
    if policy.document.default_delegations:
        actors = names_of(KUBERNETES.actors)
        conditions["not-kubernetes"] = f"!({cel.is_among(_USER, actors)})"
    return conditions


def touches_marks(policy: Policy) -> str:
    """Return the condition that a mark of ownership has changed.

    That is every mark and every switch of an engine, a reference to a controller (which would make
    the object that controller's, and nobody's to guard), and our stamps.
    """
    keys = {("annotation", name) for name in (*names.ANNOTATIONS, *SWITCHES)}
    keys |= {("label", name) for name in (*SWITCHES, names.ACTIVE)} | policy.mark_keys
    fields = {kind: sorted(key for each, key in keys if each == kind) for kind, _ in keys}
    tests = [_differs(f"{kind}s", listed) for kind, listed in sorted(fields.items())]
    return cel.any_of([*tests, _differ_in_references()])


def _differs(field: str, keys: list[str]) -> str:
    """Return the condition that one of *keys* in metadata's *field* is not what it was."""
    new, old = (f"{o}.metadata.{field}" for o in ("object", "oldObject"))
    there, before = (f"(has({each}) && k in {each})" for each in (new, old))
    changed = f"({there} && {before} && {new}[k] != {old}[k])"
    return f"{cel.list_of(keys)}.exists(k, {there} != {before} || {changed})"


def _differ_in_references() -> str:
    """Return the condition that the object's ownerReferences are not what they were."""
    new, old = (f"{o}.metadata.ownerReferences" for o in ("object", "oldObject"))
    return f"has({new}) != has({old}) || (has({new}) && has({old}) && {new} != {old})"


def _old_or_new(test: str) -> str:
    """Return the condition that *test* holds of `o`, the object as it was or as it shall be."""
    return f"[object, oldObject].exists(o, o != null && ({test}))"


def _signs(engine: Engine) -> str:
    """Return the condition that `o` carries a sign of *engine*."""
    return cel.any_of(cel.carries("o", sign) for sign in engine.signs)
