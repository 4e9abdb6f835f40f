"""The GitOps engines that Glasswarden knows, and whose object an object is.

How to add an engine:

1. Write its module beside this one, with an `Engine` called `ENGINE`. Name, title, marks, signs
   and claim are required; `engine` describes the rest, and each part that is left out has a safe
   default. `kapp` is a small example, `flux` a complete one.
2. Import the module below and add its `ENGINE` to `ENGINES`.
3. In `tests/kube/engines/test_engines.py`, add an object that it owns to `OWNED`, copies of its
   marks to `NOT_OWNED`, and its name to the list of names. An engine that is disabled by default
   goes into `EXAMPLES` in `test_contract.py` instead of `OWNED`. Run `pytest tests/kube/engines`.
4. Renew the published schema: `glasswarden policy schema > docs/policy.schema.json`.
5. Only if the denial looks up Git (`git_location`): let the webhook read those kinds, in
   `manifests/base/rbac-webhook.yaml`. The contract test fails without a rule.

The program needs the first two steps only. The guard, the trusted controllers, the conditions of
the webhooks, the fallback policy, the policy file with its schema, the messages, drift and the
setup read the registry; `test_contract.py` adds an engine in this way and tries all of them, and
`test_names.py` finds code that names an engine elsewhere. Reading what an engine reports about
itself (`correlator/sources`) is optional, and apart.

Nothing here reads from a cluster: ownership is what an object says of itself, and a mark that was
evidently copied from another object is not ownership. An engine's own objects are guarded whether
or not Git describes them: suspending one, pinning it to another revision or making it ignore a
field is how drift begins unseen.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from glasswarden.kube.engines import (
    argocd,
    configsync,
    fleet,
    flux,
    helm,
    kapp,
    pulumi,
    sveltos,
)
from glasswarden.kube.engines.engine import Drift, Engine, Mark, Owner, Subject, subject_of
from glasswarden.kube.objects import Object, Ref, has_controller

ENGINES: Final[tuple[Engine, ...]] = (
    argocd.ENGINE,
    flux.ENGINE,
    configsync.ENGINE,
    fleet.ENGINE,
    kapp.ENGINE,
    sveltos.ENGINE,
    # After those that deploy charts themselves.
    helm.ENGINE,
    pulumi.ENGINE,
)
"""In the order in which they are asked for their claim."""

DEFAULT_ENGINES: Final = tuple(engine for engine in ENGINES if engine.options().enabled)
"""Those that count unless the policy disables them; the others only where it enables them."""

BY_NAME: Final[Mapping[str, Engine]] = {engine.name: engine for engine in ENGINES}

SWITCHES: Final = frozenset(switch for engine in ENGINES for switch in engine.switches)
"""Annotations and labels that make an engine leave something alone."""

_STEERING: Final = {
    (group, kind): engine.name
    for engine in ENGINES
    for group, kinds in engine.kinds.items()
    for kind in kinds
}
_NO_DRIFT: Final = Drift()
_ENDPOINTS_LABEL: Final = "endpoints.kubernetes.io/managed-by"


def owner_of(obj: Object, engines: tuple[Engine, ...] = DEFAULT_ENGINES) -> Owner | None:
    """Return the owner that the first of *engines* to claim *obj* names, or nothing.

    A child that Kubernetes made from an owned object is its controller's, not Git's: pods inherit
    the labels and annotations of their template, marks included, and are replaced at will.
    """
    subject = subject_of(obj)
    for engine in engines:
        owner = engine.claim(subject)
        if owner is not None:
            return None if has_controller(obj) or _is_endpoints_of_service(subject) else owner
    return None


def reconciler_of(ref: Ref) -> Owner | None:
    """Return *ref* as the owner it is to other objects, or nothing when it steers no engine."""
    engine = _STEERING.get((ref.group, ref.kind))
    if engine is None:
        return None
    return Owner(engine, ref.name, ref.namespace or None, ref.kind)


def title_of(engine: str) -> str:
    """Return how messages call *engine*; a marker of the policy is called as it is there."""
    known = BY_NAME.get(engine)
    return known.title if known else engine


def drift_of(engine: str) -> Drift:
    """Return what the drift detector knows about *engine*: nothing, for a marker of the policy."""
    known = BY_NAME.get(engine)
    return known.drift if known else _NO_DRIFT


def marks_of(engines: Iterable[Engine]) -> frozenset[Mark]:
    """Return every mark of *engines*."""
    return frozenset(mark for engine in engines for mark in engine.marks)


def _is_endpoints_of_service(subject: Subject) -> bool:
    # The endpoints controller copies its Service's labels but sets no ownerReference.
    return (
        subject.ref.kind == "Endpoints"
        and subject.ref.group == ""
        and subject.label(_ENDPOINTS_LABEL) == "endpoint-controller"
    )
