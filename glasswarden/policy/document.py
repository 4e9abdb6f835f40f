"""The policy file as it is written: its keys, their types, and what each of them means.

The published JSON Schema is made from these classes, and so is the check of a file; there is no
second description of the format.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from glasswarden.kube.engines import settings
from glasswarden.kube.engines.registry import ENGINES
from glasswarden.kube.engines.settings import Part, Pattern, Patterns
from glasswarden.policy.types import GrantOperation, Mode, Operation

FieldPattern = Annotated[
    str,
    Meta(
        min_length=1,
        description="A field path such as `/spec/replicas`; `*` is one step, `**` any number.",
    ),
]


class Benign(StrEnum):
    """Operations that change how pods run but not what Git says."""

    ROLLOUT_RESTART = "rollout-restart"
    ROLLOUT_PAUSE = "rollout-pause"
    ROLLOUT_UNDO = "rollout-undo"


class Where(Part, frozen=True, kw_only=True):
    """Which objects a rule is about; what is left out does not matter."""

    namespaces: Annotated[Patterns, Meta(description="Namespaces of the object.")] = ()
    engines: Annotated[Patterns, Meta(description="Engines that own the object.")] = ()
    applications: Annotated[
        Patterns, Meta(description="Applications, as `name` or `namespace/name`.")
    ] = ()
    kinds: Annotated[Patterns, Meta(description="Kinds, as `Kind` or `group/Kind`.")] = ()
    names: Annotated[Patterns, Meta(description="Names of the object.")] = ()
    labels: Annotated[
        dict[str, Pattern], Meta(description="Labels that the object carries, with their values.")
    ] = msgspec.field(default_factory=dict)


class ModeRule(Where, frozen=True, kw_only=True):
    """What happens to refused writes, for some objects. The first rule that fits counts."""

    mode: Mode


class Subjects(Part, frozen=True, kw_only=True):
    """People, by user name or group."""

    users: Annotated[Patterns, Meta(description="User names.")] = ()
    groups: Annotated[Patterns, Meta(description="Groups.")] = ()


class Delegation(Where, frozen=True, kw_only=True):
    """Fields that somebody other than Git owns."""

    name: Annotated[str, Meta(min_length=1, description="How reports call the delegate.")]
    actors: Annotated[Patterns, Meta(description="User names that may write the fields.")] = ()
    managers: Annotated[
        Patterns,
        Meta(description="Field managers that may write them: names that anybody can choose."),
    ] = ()
    operations: Annotated[
        tuple[Operation, ...], Meta(min_length=1, description="What they may do.")
    ] = (Operation.UPDATE,)
    fields: Annotated[
        tuple[FieldPattern, ...],
        Meta(min_length=1, description="The fields; a write to any other is not covered."),
    ]


if TYPE_CHECKING:

    class Engines(Part, frozen=True, kw_only=True):
        """The engines whose marks count, a field for each."""

        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401 - each engine has settings of its own

else:
    Engines = msgspec.defstruct(
        "Engines",
        [(engine.name, engine.options, engine.options()) for engine in ENGINES],
        bases=(Part,),
        module=__name__,
        namespace={"__doc__": "The engines whose marks count."},
        frozen=True,
        kw_only=True,
    )


def options_of(document: "Document", engine: str) -> settings.Engine:
    """Return what *document* says about *engine*, one of the registry's."""
    options: settings.Engine = getattr(document.engines, engine)
    return options


class Marker(Part, frozen=True, kw_only=True):
    """A mark of your own: objects that carry it are managed."""

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$", description="How the engine is called.")]
    label: Annotated[str | None, Meta(description="The label that marks an object.")] = None
    annotation: Annotated[str | None, Meta(description="The annotation that marks it.")] = None
    value: Annotated[str | None, Meta(description="The only value that counts.")] = None
    application: Annotated[
        str | None, Meta(description="Label or annotation that names the application.")
    ] = None
    controllers: Annotated[Patterns, Meta(description="User names that write for it.")] = ()


class Sensitive(Part, frozen=True, kw_only=True):
    """Values that are neither shown nor stored; those of Secrets never are."""

    kinds: Annotated[Patterns, Meta(description="Kinds, as `Kind` or `group/Kind`.")] = ("*",)
    fields: Annotated[tuple[FieldPattern, ...], Meta(min_length=1, description="The fields.")]


Duration = Annotated[str, Meta(min_length=1, description="A time such as `30m` or `1h30m`.")]
ClockTime = Annotated[str, Meta(min_length=1, description="A time of the day such as `09:00`.")]

Count = Annotated[int, Meta(ge=1)]


class Day(StrEnum):
    """Days of the week, from Monday on."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


class Hours(Part, frozen=True, kw_only=True):
    """When a rule is in force."""

    days: Annotated[tuple[Day, ...], Meta(min_length=1, description="On which days.")] = (
        Day.MON, Day.TUE, Day.WED, Day.THU, Day.FRI,
    )  # fmt: skip
    start: Annotated[ClockTime, Meta(description="From when on.")] = msgspec.field(name="from")
    end: Annotated[ClockTime, Meta(description="Until when.")] = msgspec.field(name="to")
    timezone: Annotated[str, Meta(description="By whose clocks, such as `Europe/Berlin`.")] = "UTC"
    outside: Annotated[
        bool, Meta(description="Whether the rule is in force at all other times instead.")
    ] = False


class TimeToLive(Part, frozen=True, kw_only=True):
    """How long a grant lives, extensions included."""

    default: Annotated[Duration, Meta(description="Where the request does not say.")] = "1h"
    longest: Annotated[Duration, Meta(description="At most, counted from its beginning.")] = "4h"


class MostOpen(Part, frozen=True, kw_only=True):
    """How many grants may be open at once; as many as one likes where nothing is said."""

    person: Annotated[Count | None, Meta(description="Of one person.")] = None
    namespace: Annotated[Count | None, Meta(description="In one namespace.")] = None


class Approval(Subjects, frozen=True, kw_only=True):
    """Who must agree, as a second person."""

    within: Annotated[Duration, Meta(description="A request that waits longer is over.")] = "1h"


class BreakGlassRule(Where, frozen=True, kw_only=True):
    """Who may write by hand for a while, where, and on which conditions."""

    name: Annotated[str, Meta(min_length=1, description="How refusals and records call the rule.")]
    users: Annotated[Patterns, Meta(description="User names that may ask.")] = ()
    groups: Annotated[Patterns, Meta(description="Groups whose members may ask.")] = ()
    hours: Annotated[Hours | None, Meta(description="When the rule is in force.")] = None
    ticket: Annotated[
        str, Meta(min_length=1, description="Regular expression that the whole ticket matches.")
    ] = r"\S+"
    reason_length: Annotated[
        int, Meta(ge=1, description="Characters that a reason has at least.")
    ] = 10
    ttl: Annotated[TimeToLive, Meta(description="How long a grant lives.")] = TimeToLive()
    operations: Annotated[
        tuple[GrantOperation, ...], Meta(min_length=1, description="What a grant covers.")
    ] = (GrantOperation.UPDATE, GrantOperation.SCALE)
    closed: Annotated[
        tuple[FieldPattern, ...], Meta(description="Fields that no grant covers.")
    ] = ()
    closed_kinds: Annotated[
        Patterns, Meta(description="Kinds that no grant covers, as `Kind` or `group/Kind`.")
    ] = ()
    namespace_wide: Annotated[
        bool, Meta(description="Whether a Namespace can be asked for, with all that is in it.")
    ] = True
    most_open: Annotated[MostOpen, Meta(description="How many grants may be open at once.")] = (
        MostOpen()
    )
    shared: Annotated[
        bool, Meta(description="Whether others of the same group may use a grant.")
    ] = False
    approval: Annotated[
        Approval | None, Meta(description="Who must approve; nobody where this is left out.")
    ] = None
    hold: Annotated[
        bool, Meta(description="Whether reconcilers leave changed fields alone meanwhile.")
    ] = True


class BreakGlass(Part, frozen=True, kw_only=True):
    """How to get in by hand in an incident."""

    rules: Annotated[
        tuple[BreakGlassRule, ...], Meta(description="The first rule that fits judges a request.")
    ] = ()


class WithoutRecord(StrEnum):
    """What becomes of a write that the rules allow but that cannot be recorded."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Outage(Part, frozen=True, kw_only=True):
    """What happens while nothing can be recorded, by the mode that the object is in.

    Nobody knows the mode while the webhook itself is away; the API server goes by one answer.
    """

    enforce: WithoutRecord = WithoutRecord.REFUSE
    warn: WithoutRecord = WithoutRecord.ALLOW
    audit: WithoutRecord = WithoutRecord.ALLOW
    away: Annotated[
        WithoutRecord | None,
        Meta(
            description="What happens to direct writes while the webhook gives no answer at all:"
            " `refuse` where some mode is `enforce`, else `allow`, unless it is said here."
        ),
    ] = None


class Document(Part, frozen=True, kw_only=True):
    """The rules of one cluster."""

    api_version: Annotated[Literal["glasswarden.io/v1"], Meta(description="The format.")]
    kind: Annotated[Literal["Policy"], Meta(description="What this file is.")]
    cluster: Annotated[
        str, Meta(min_length=1, description="The cluster's name in records and reports.")
    ] = "default"
    mode: Annotated[Mode, Meta(description="What happens to refused writes.")] = Mode.ENFORCE
    reconcilers: Annotated[
        Mode, Meta(description="The same, for the objects that steer the engines themselves.")
    ] = Mode.WARN
    modes: Annotated[
        tuple[ModeRule, ...], Meta(description="Other modes for some objects; the first fits.")
    ] = ()
    engines: Engines = Engines()
    markers: tuple[Marker, ...] = ()
    delegations: tuple[Delegation, ...] = ()
    default_delegations: Annotated[
        bool, Meta(description="Whether autoscalers, cert-manager and the like are delegates.")
    ] = True
    benign: Annotated[
        tuple[Benign, ...], Meta(description="Operations that are allowed, and recorded.")
    ] = (Benign.ROLLOUT_RESTART,)
    reserved_namespaces: Annotated[
        Patterns, Meta(description="Namespaces in which only GitOps may write anything.")
    ] = ()
    detach: Annotated[Subjects, Meta(description="Who may change an object's ownership marks.")] = (
        Subjects()
    )
    sensitive: tuple[Sensitive, ...] = ()
    break_glass: Annotated[
        BreakGlass, Meta(description="Who may write by hand for a while; nobody without a rule.")
    ] = BreakGlass()
    outage: Annotated[
        Outage, Meta(description="What happens to allowed writes that cannot be recorded.")
    ] = Outage()
    emergency_group: Annotated[
        str, Meta(min_length=1, description="A group that always gets in; it is seen afterwards.")
    ] = "glasswarden:emergency"


EMPTY: Final = Document(api_version="glasswarden.io/v1", kind="Policy")
"""A file that says nothing: every setting has its default."""
