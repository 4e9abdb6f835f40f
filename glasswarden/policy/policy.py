"""`Policy`: the rules of one cluster, in the form in which every write is checked against them.

`policy_of` makes one from a policy document, the registry of engines and the usual owners of single
fields. Also the namespaces where the guard has no say, because a webhook that can stop the cluster
can stop its own recovery. Nothing here reads a file or a cluster.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from glasswarden.kube.diff import Change, are_covered
from glasswarden.kube.engines.custom import custom
from glasswarden.kube.engines.engine import Engine, Mark, Owner, service_accounts
from glasswarden.kube.engines.registry import ENGINES, marks_of, reconciler_of
from glasswarden.kube.objects import Ref
from glasswarden.kube.patterns import PathPattern, overlaps, parse_pattern, walks_of
from glasswarden.policy import document as doc
from glasswarden.policy.breakglass.rules import Rule, in_own_namespace, is_namespace, rules_of
from glasswarden.policy.document import Delegation
from glasswarden.policy.matching import (
    Kinds,
    Names,
    ObjectSelector,
    kinds_of,
    names_of,
    selector_of,
    touched_metadata,
)
from glasswarden.policy.types import Actor, Mode, Operation
from glasswarden.policy.write import Write

_ANY_FIELD: Final = ("/**",)
_ANY_OPERATION: Final = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)


# With --use-service-account-credentials each of Kubernetes' controllers has a name of its own
# in kube-system; without, they share one user.
KUBERNETES: Final = Delegation(
    name="kubernetes",
    actors=(
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:node:*",
        *service_accounts(
            "kube-system",
            "*-cleaner",
            "*-controller",
            "*-garbage-collector",
            "*-publisher",
            "bootstrap-signer",
            "persistent-volume-binder",
        ),
    ),
    operations=_ANY_OPERATION,
    fields=_ANY_FIELD,
)
"""Kubernetes itself: the API server does not even ask about it."""

DELEGATIONS: Final = (
    Delegation(
        name="horizontal-pod-autoscaler",
        actors=service_accounts("kube-system", "horizontal-pod-autoscaler"),
        fields=("/spec/replicas",),
    ),
    Delegation(
        name="keda",
        actors=service_accounts("keda", "keda-operator"),
        fields=("/spec/replicas",),
    ),
    Delegation(
        name="vertical-pod-autoscaler",
        actors=service_accounts("kube-system", "vpa-*"),
        fields=(
            "/spec/template/spec/containers[*]/resources/**",
            "/spec/containers[*]/resources/**",
        ),
    ),
    Delegation(
        name="cert-manager",
        actors=service_accounts("cert-manager", "cert-manager-cainjector"),
        fields=(
            "/webhooks[*]/clientConfig/caBundle",
            "/spec/conversion/webhook/clientConfig/caBundle",
            "/spec/caBundle",
        ),
    ),
    Delegation(
        name="glasswarden",
        actors=service_accounts("glasswarden", "glasswarden-certs"),
        fields=("/webhooks[*]/clientConfig/caBundle",),
    ),
    KUBERNETES,
)
"""Who owns single fields in most clusters."""


_SECRET: Final = doc.Sensitive(kinds=("/Secret",), fields=("/data/**", "/stringData/**"))


@dataclass(frozen=True, slots=True)
class Delegate:
    """Somebody who owns certain fields of certain objects."""

    name: str
    place: ObjectSelector
    actors: Names
    managers: Names
    operations: frozenset[Operation]
    fields: tuple[PathPattern, ...]

    def covers(self, write: Write) -> bool:
        """Return whether all that *write* does is the delegate's to do."""
        return (
            (write.actor.name in self.actors or write.manager in self.managers)
            and write.operation in self.operations
            and self.place.fits(write.target, write.owner, write.labels)
            and are_covered(write.changes, self.fields)
        )


@dataclass(frozen=True, slots=True)
class Hidden:
    """Fields whose values are nobody's business."""

    kinds: Kinds
    fields: tuple[PathPattern, ...]

    def holds(self, ref: Ref, change: Change) -> bool:
        """Return whether a value of *change* is, contains or is part of such a field."""
        return self.kinds.fits(ref) and any(
            overlaps(walk, change.path, change.old, change.new) for walk in walks_of(self.fields)
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What the guard of one cluster goes by. `policy_of` makes one."""

    document: doc.Document
    digest: str
    """Identifies the rules that a record was decided by."""

    engines: tuple[Engine, ...]
    engine_names: frozenset[str]
    mark_keys: frozenset[tuple[str, str]]
    controllers: Mapping[str, Names]
    modes: tuple[tuple[ObjectSelector, Mode], ...]
    delegates: tuple[Delegate, ...]
    reserved: Names
    detach_users: Names
    detach_groups: Names
    hidden: tuple[Hidden, ...]
    glass: tuple[Rule, ...]
    """The rules of break-glass, in their order."""

    @property
    def cluster(self) -> str:
        """The cluster's name, as records and reports show it."""
        return self.document.cluster

    @property
    def fails_closed(self) -> bool:
        """Whether the API server denies a guarded write that it gets no answer about.

        Where nothing is enforced, nothing is denied, also during an outage of the webhook.
        """
        if self.document.outage.away is not None:
            return self.document.outage.away is doc.WithoutRecord.REFUSE
        modes = {self.document.mode, self.document.reconcilers, *(mode for _, mode in self.modes)}
        return Mode.ENFORCE in modes

    def guards(self, write: Write) -> bool:
        """Whether GitOps has a say in the object that *write* is about."""
        if write.owner is not None:
            return True
        return self.is_reserved(write) and not write.controlled

    def is_reserved(self, write: Write) -> bool:
        """Whether *write* is about a reserved namespace: what is in it, or that it goes with all.

        What else is done to the Namespace is not in it: somebody has to make one, and label it.
        """
        target = write.target
        if is_namespace(target):
            return write.operation is Operation.DELETE and target.name in self.reserved
        return target.namespace in self.reserved

    def reconciler_of(self, ref: Ref) -> Owner | None:
        """Return *ref* as the owner it is to other objects, where it steers an engine that counts.

        Of an engine that does not, no controller is trusted: its own writes would be denied.
        """
        found = reconciler_of(ref)
        return found if found is not None and found.engine in self.engine_names else None

    def trusts(self, actor: Actor, owner: Owner) -> bool:
        """Whether *actor* writes on behalf of *owner*'s engine.

        By the authenticated user name alone: a field manager can be chosen by anybody.
        """
        controllers = self.controllers.get(owner.engine)
        return controllers is not None and actor.name in controllers

    def reconciles(self, actor: Actor) -> bool:
        """Whether *actor* writes on behalf of any engine whose marks count."""
        return any(actor.name in self.controllers[name] for name in self.engine_names)

    def mode_of(self, write: Write) -> Mode:
        """Return what happens to *write* if it is denied."""
        if write.steers:
            return self.document.reconcilers
        target = in_own_namespace(write.target)
        for place, mode in self.modes:
            if place.fits(target, write.owner, write.labels):
                return mode
        return self.document.mode

    def delegate_of(self, write: Write) -> Delegate | None:
        """Return who owns everything that *write* does, if somebody does."""
        return next((each for each in self.delegates if each.covers(write)), None)

    def may_detach(self, actor: Actor) -> bool:
        """Whether *actor* may change ownership marks."""
        return actor.name in self.detach_users or any(
            group in self.detach_groups for group in actor.groups
        )

    def is_mark(self, change: Change) -> bool:
        """Whether *change* touches a label or annotation that ownership is read from."""
        return any(touched in self.mark_keys for touched in touched_metadata(change))

    def hides(self, ref: Ref, change: Change) -> bool:
        """Whether the values of *change* must neither be shown nor stored."""
        return any(each.holds(ref, change) for each in self.hidden)

    def glass_rule(self, name: str) -> Rule | None:
        """Return the break-glass rule called *name*."""
        return next((rule for rule in self.glass if rule.name == name), None)


def policy_of(document: doc.Document) -> Policy:
    """Return *document*, ready to be asked. Raises `PathError` for a field that is no path."""
    engines = tuple(_engines(document))
    delegations = document.delegations
    if document.default_delegations:
        delegations += DELEGATIONS
    return Policy(
        document,
        digest=hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest(),
        engines=engines,
        engine_names=frozenset(engine.name for engine in engines),
        mark_keys=frozenset((mark.kind, mark.key) for mark in marks_of(engines)),
        controllers=dict(_controllers(document)),
        modes=tuple((selector_of(rule), rule.mode) for rule in document.modes),
        delegates=tuple(_delegate(each) for each in delegations),
        reserved=names_of(document.reserved_namespaces),
        detach_users=names_of(document.detach.users),
        detach_groups=names_of(document.detach.groups),
        hidden=tuple(
            Hidden(kinds_of(each.kinds), tuple(map(parse_pattern, each.fields)))
            for each in (_SECRET, *document.sensitive)
        ),
        glass=rules_of(document.break_glass.rules),
    )


def _engines(document: doc.Document) -> Iterable[Engine]:
    """Yield the engines whose marks count, in the order they are asked."""
    for engine in ENGINES:
        options = doc.options_of(document, engine.name)
        if options.enabled:
            yield engine.with_options(options)
    for marker in document.markers:
        yield custom(marker.name, _mark(marker), _application_mark(marker))


def _mark(marker: doc.Marker) -> Mark:
    if marker.label is not None:
        return Mark("label", marker.label, marker.value)
    return Mark("annotation", marker.annotation or "", marker.value)


def _application_mark(marker: doc.Marker) -> Mark | None:
    if marker.application is None:
        return None
    return Mark("label" if marker.label is not None else "annotation", marker.application)


def _controllers(document: doc.Document) -> Iterable[tuple[str, Names]]:
    for engine in ENGINES:
        yield engine.name, names_of(users_of(engine, document))
    for marker in document.markers:
        yield marker.name, names_of(marker.controllers)


def users_of(engine: Engine, document: doc.Document) -> tuple[str, ...]:
    """Return the users that reconcile for *engine*, as *document* has it or as is usual."""
    chosen = doc.options_of(document, engine.name).controllers
    return engine.controllers if chosen is None else chosen


def _delegate(delegation: doc.Delegation) -> Delegate:
    return Delegate(
        delegation.name,
        selector_of(delegation),
        names_of(delegation.actors),
        names_of(delegation.managers),
        frozenset(delegation.operations),
        tuple(map(parse_pattern, delegation.fields)),
    )


def enforce_everywhere(policy: Policy) -> Policy:
    """Return *policy* with every mode set to `enforce`: what it would deny, it denies."""
    document = msgspec.structs.replace(
        policy.document, mode=Mode.ENFORCE, reconcilers=Mode.ENFORCE, modes=()
    )
    return policy_of(document)


DEFAULT: Final = policy_of(doc.EMPTY)
"""What serves where nothing was configured."""


OUR_NAMESPACE: Final = "glasswarden"

EXEMPT_NAMESPACES: Final = ("kube-system", "kube-node-lease", "kube-public", OUR_NAMESPACE)
"""Where cluster components live, and the guard itself if it is where its manifests put it; the
namespace of the Service that it is reached by is exempt as well."""
