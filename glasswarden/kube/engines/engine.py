"""`Engine`: everything that is specific to one GitOps engine, as data and pure functions.

The guard, the registration, the drift detector and the setup know no engine by name. They read
what they need from an `Engine`, so a new engine is one module with one `Engine` in it; `registry`
describes how to add it. Nothing here reads from a cluster: where an engine needs another object,
the caller passes the function that reads it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from glasswarden.kube.engines import settings
from glasswarden.kube.objects import Object, Ref, annotations_of, labels_of, ref_of
from glasswarden.kube.paths import Path, path_of


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose object it is: the engine, and the engine's object that describes it."""

    engine: str
    app: str
    """The application's name; empty where the engine's marks do not name one."""
    namespace: str | None
    """The namespace of the application's own object; none where the marks do not name one."""
    kind: str = ""
    """The kind of that object, such as ``Kustomization``; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One label or annotation by which an engine recognises its objects."""

    kind: Literal["annotation", "label"]
    key: str
    value: str | None = None
    """The only value that makes it a mark; none when any value does."""

    @property
    def path(self) -> Path:
        """The path of the mark in an object."""
        return path_of("metadata", f"{self.kind}s", self.key)


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of an object that ownership is read from."""

    ref: Ref
    labels: Object
    annotations: Object

    def label(self, key: str) -> str:
        """Return the label's value, empty when it is absent or not text."""
        value = self.labels.get(key)
        return value if isinstance(value, str) else ""

    def annotation(self, key: str) -> str:
        """Return the annotation's value, empty when it is absent or not text."""
        value = self.annotations.get(key)
        return value if isinstance(value, str) else ""

    def carries(self, mark: Mark) -> bool:
        """Return whether *mark* is present, with its only value if it has one, else with any."""
        found = (self.labels if mark.kind == "label" else self.annotations).get(mark.key)
        return isinstance(found, str) and mark.value in (None, found)

    def read(self, mark: Mark) -> str:
        """Return the value of *mark*."""
        return self.label(mark.key) if mark.kind == "label" else self.annotation(mark.key)


@dataclass(frozen=True, slots=True)
class CelClaim:
    """How an engine claims an object, in the API server's expression language.

    The expressions read the variables that `cel` names.
    """

    test: str
    app: str = "''"
    namespace: str = "''"


@dataclass(frozen=True, slots=True)
class GitLocation:
    """Where in Git an application is described."""

    repository: str
    path: str = ""
    revision: str = ""


GetObject: TypeAlias = Callable[[str, str, str, str], Object]
"""Reads an object by API version with its group, namespace, resource and name."""


class ClusterReader(Protocol):
    """What an engine reads to find its installations; a survey provides it."""

    def groups(self) -> frozenset[str]:
        """Return the API groups that the server serves."""
        ...

    def each(self, path: str) -> Iterator[Object]:
        """Yield the objects at *path*; none where the kind does not exist."""
        ...

    def accounts(self, label: str, namespace: str = "") -> tuple[str, ...]:
        """Return the user names under which the workloads with *label* run."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs from the default, for the proposed policy."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Controller:
    """A user that reconciles for an engine, for the proposed policy."""

    user: str
    reason: str


@dataclass(frozen=True, slots=True)
class Detected:
    """How an engine is set up in a cluster."""

    title: str
    """What was found, such as ``Argo CD in argocd``."""
    changed_settings: tuple[Setting, ...] = ()
    controllers: tuple[Controller, ...] = ()
    options: settings.Engine | None = None
    """The settings by which its marks are read there; none for the default ones."""


@dataclass(frozen=True, slots=True)
class DriftedField:
    """A field that is not as Git declares it."""

    owner: Owner
    ref: Ref
    path: Path
    is_addition: bool
    """Whether Git does not declare the field."""


def _never(_obj: Object, _kind: str) -> bool:
    return False


def _updates(_manifest: Object, _kind: str) -> str:
    return ""


def _no_reason(_obj: Object) -> str:
    return ""


def _no_advice(_field: DriftedField) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What the drift detector and its advice need to know about an engine.

    Names of field managers can be chosen by anybody: they sort what is observed, and prove nothing.
    """

    field_managers: frozenset[str] = frozenset()
    """Field managers under which the engine writes what Git declares."""
    appliers: Mapping[str, str] = field(default_factory=dict)
    """The usual one of them, by the kind of the owner."""
    manager_prefixes: tuple[str, ...] = ()
    """How other field managers of the engine begin."""
    people: frozenset[str] = frozenset()
    """Field managers of its user interfaces: behind these is a person."""
    domains: frozenset[str] = frozenset()
    """Prefixes of the labels and annotations that the engine writes and Git does not declare."""
    keys: frozenset[str] = frozenset()
    """Further labels and annotations of that sort, with other prefixes."""
    sources: frozenset[str] = frozenset()
    """Sources of findings that read the engine's own status."""
    is_hook: Callable[[Object, str], bool] = _never
    """Whether the engine, by an owner of the given kind, creates the object only around a sync."""
    keeps: Callable[[Object], str] = _no_reason
    """The mark on a live object that forbids to prune it; empty where there is none."""
    leaves_alone: Callable[[Object, str], str] = _updates
    """Why the engine, by an owner of the given kind, does not update an object with this manifest;
    empty where it does. The kind is empty where the owner is not known."""
    ignore_rule: Callable[[DriftedField], str] = _no_advice
    """What makes the engine leave a field alone; empty where only Git can."""
    ignores_declared_fields: bool = False
    """Whether that rule is an alternative to the removal of the field from Git."""
    revert_command: Callable[[DriftedField], str] = _no_advice
    """The command that has the engine write a field as declared; empty where there is none."""


def _diverts_nothing(_before: Object, _after: Object) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A GitOps engine. Only the first five fields are required; see each for its default."""

    name: str
    """How policies and records call it."""
    title: str
    """How messages call it."""
    marks: tuple[Mark, ...]
    """Every key that ownership is read from: a write that touches one touches ownership."""
    signs: tuple[Mark, ...]
    """The marks of which each owned object carries at least one: a cheap test that misses none."""
    claim: Callable[[Subject], Owner | None]
    """Returns the owner that the marks name, or nothing where they were copied."""
    cel_claims: tuple[CelClaim, ...] | None = None
    """The same for the fallback policy; none where no expression can tell a copied mark."""

    controllers: tuple[str, ...] = ()
    """User names that reconcile for it in a usual installation; ``*`` is any part of a name."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its own kinds, those that steer it, by API group."""
    short_names: Mapping[str, str] = field(default_factory=dict)
    """Words by which its kinds are typed on a command line, separated by spaces."""
    switches: frozenset[str] = frozenset()
    """Annotations and labels that make the engine leave something alone."""
    suspensions: tuple[Path, ...] = ()
    """Fields of its own kinds that stop it."""
    diverts: Callable[[Object, Object], bool] = _diverts_nothing
    """Whether an own object, before and after a write, is asked to deploy something else once."""

    options: type[settings.Engine] = settings.Engine
    """What the policy file can say about it."""
    configure: "Callable[[settings.Engine], Engine] | None" = None
    """Returns the engine for other settings than the default ones."""

    git_location: Callable[[Owner, GetObject], GitLocation | None] | None = None
    """Reads where an owner is described in Git. Raises what the reader raises, or `LookupError`."""
    home_namespace: str = ""
    """Where owners are whose marks name no namespace, unless its controllers are elsewhere."""

    detect: Callable[[ClusterReader], Detected | None] | None = None
    """Finds out how it is set up in a cluster; without it, its usual controllers are proposed."""
    drift: Drift = Drift()

    def with_options(self, options: settings.Engine) -> "Engine":
        """Return the engine as *options* have it."""
        return self.configure(options) if self.configure else self


def subject_of(obj: Object) -> Subject:
    """Return what engines read ownership from in *obj*."""
    return Subject(ref_of(obj), labels_of(obj), annotations_of(obj))


def service_accounts(namespace: str, *names: str) -> tuple[str, ...]:
    """Return the user names of service accounts."""
    return tuple(f"system:serviceaccount:{namespace}:{name}" for name in names)


def first_annotation(obj: Object, *wanted: tuple[str, str]) -> str:
    """Return the first of *wanted*, keys with a value in lower case, that *obj* is annotated with.

    It is written ``key: value``, and empty where there is none.
    """
    annotations = annotations_of(obj)
    found = (key for key in wanted if str(annotations.get(key[0], "")).lower() == key[1])
    return ": ".join(next(found, ()))
