"""What inspections go by: policy, ledger, masks, audit log, live state and what Git declares.

Each is opened at most once, when it is first needed, and closed at the end. What cannot be opened
or read is kept as `Incomplete`, so that whoever inspects can report it. Nothing is written.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from correlator.attribution.context import Knowledge
from correlator.attribution.ledger import clusters_in, knowledge_of
from correlator.audit.log import AuditLog, read_log
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address
from correlator.declared.manifests import Manifests
from correlator.declared.read import lookup_in, read_declared
from correlator.declared.render import Release
from correlator.finding import Incomplete
from correlator.linker import Linker, Linking, leave_unlinked, linker_of
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.remembered import RememberedLive
from correlator.live.source import KindUnavailable, Live, Scope
from correlator.still_live import LiveCheck, Lookup, NotKnown
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable, LedgerError
from glasswarden.ledger.keys import open_masks
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.open import keys_beside, open_ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt, Head
from glasswarden.ledger.writes import find_attempts
from glasswarden.policy.policy import DEFAULT, Policy

LEDGER = "the ledger"


class ClusterNotNamed(Exception):
    """The ledger holds records of several clusters; one of *names* has to be chosen."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"name one of the clusters with --cluster: {', '.join(names)}")
        self.names = names


class LiveUnavailable(Exception):
    """Live state cannot be read at all; *place* names it."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(why)
        self.place = place


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A folder of a Git repository, and the release that a chart in it is rendered as."""

    address: Address
    path: str = ""
    release: Release = Release()  # noqa: RUF009 - frozen

    @property
    def repository(self) -> str:
        """The address as a command line takes it."""
        address = self.address
        return f"{address.place}@{address.revision}" if address.revision else address.place

    def __str__(self) -> str:
        return f"--git {self.address.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions:
    """Where the evidence is; what is not named is not opened."""

    policy: Policy = DEFAULT
    ledger: str = ""
    """The ledger's address."""
    is_ledger_required: bool = True
    """Without it, a ledger that cannot be opened is reported as not inspected."""
    keys: Path | None = None
    """Folder with the masking keys; beside an SQLite ledger where it is not given."""
    cluster: str = ""
    """The cluster's name in the ledger; empty for the only one."""
    is_any_cluster: bool = False
    """Whether records of several clusters may be mixed: no live state is read then."""
    audit_logs: tuple[Path, ...] = ()
    on_audit_progress: Callable[[int], None] = lambda _: None
    git: GitFolder | None = None
    live_folder: Path | None = None
    """Objects taken from a cluster, which is not asked then."""
    connect: Callable[[], ApiServer] | None = None
    """Returns the API server. Raises `NoAccess`."""


@dataclass(slots=True)
class Evidence:
    """The evidence of one or more inspections. Belongs to one thread."""

    policy: Policy = DEFAULT
    ledger: Ledger | None = None
    cluster: str = ""
    masks: Masks | None = None
    audit: AuditLog | None = None
    git: GitFolder | None = None
    live_folder: Path | None = None
    connect: Callable[[], ApiServer] | None = None
    is_ledger_required: bool = True
    live_scope: Scope = Scope()  # noqa: RUF009 - frozen
    """The part of live state that objects are read from."""
    unopened: tuple[Incomplete, ...] = ()
    """What was named and cannot be opened."""
    unread: dict[Ref, str] = field(default_factory=dict)
    """Objects that were needed and cannot be read, each with the reason."""
    _server: ApiServer | None = None
    _live: dict[Scope, RememberedLive] = field(default_factory=dict)
    _live_failure: LiveUnavailable | None = None
    _manifests: dict[GitFolder, Manifests | DeclaredUnreadable] = field(default_factory=dict)
    _linker: Linker | None = None
    _linker_state: tuple[list[Head], datetime | None] | None = None

    @property
    def place(self) -> str:
        """What live state is called where it cannot be read."""
        return "the cluster" if self.live_folder is None else f"--live {self.live_folder}"

    @property
    def has_live(self) -> bool:
        """Whether there is any live state to read."""
        return self.live_folder is not None or self.connect is not None

    @property
    def server(self) -> ApiServer:
        """The API server. Raises `ApiServerError`."""
        if self._server is None:
            if self.connect is None:
                raise ApiServerError("no cluster was named")
            self._server = self.connect()
        return self._server

    def live(self, scope: Scope) -> RememberedLive:
        """Return live state, the same until `renew`. Raises `LiveUnavailable`."""
        if self._live_failure is not None:
            raise self._live_failure
        if scope not in self._live:
            try:
                self._live[scope] = RememberedLive(self._open_live(scope))
            except (ApiServerError, DeclaredUnreadable) as error:
                self._live_failure = LiveUnavailable(self.place, str(error))
                raise self._live_failure from error
        return self._live[scope]

    def _open_live(self, scope: Scope) -> Live:
        if self.live_folder is not None:
            return FolderLive(self.live_folder, scope)
        return ClusterLive(self.server, scope)

    def renew(self) -> None:
        """Have live state and Git read again: another pass begins."""
        self._live, self._live_failure, self._manifests = {}, None, {}

    def manifests(self, git: GitFolder) -> Manifests:
        """Return what *git* declares, rendered once. Raises `DeclaredUnreadable`."""
        if git not in self._manifests:
            try:
                self._manifests[git] = read_declared(git.address, git.path, git.release)
            except DeclaredUnreadable as error:
                self._manifests[git] = error
        found = self._manifests[git]
        if isinstance(found, DeclaredUnreadable):
            raise found
        return found

    def linker(self) -> Linking:
        """Return what links findings to records: the same as before if nothing arrived since."""
        if self.ledger is None:
            return leave_unlinked
        state = self.ledger.heads(), self.audit.watch.until if self.audit else None
        if self._linker is None or state != self._linker_state:
            linker = linker_of(self.ledger, self.cluster, self.policy, self.masks)
            if self.audit is not None:
                linker = replace(linker, knowledge=linker.knowledge.combine(self.audit.knowledge))
            self._linker, self._linker_state = linker, state
        return self._linker

    @property
    def witnessed(self) -> Knowledge:
        """What the audit log adds to the records."""
        return self.audit.knowledge if self.audit else Knowledge()

    @property
    def knowledge(self) -> Knowledge:
        """The limits of the records, by the ledger itself and the audit log."""
        if self.ledger is None:
            return self.witnessed
        known = knowledge_of(self.ledger, self.cluster)
        return known.combine(self.audit.knowledge) if self.audit else known

    def attempts(self, question: Question) -> list[Attempt]:
        """Return the records that answer *question*, oldest first. Raises `LedgerError`."""
        found = find_attempts(self.ledger, question) if self.ledger is not None else ()
        return sorted(found, key=lambda each: (each.time, each.id))

    def open_grants(self, now: datetime) -> dict[str, datetime]:
        """Return when each grant ends that is open."""
        found = self.ledger.open_grants(self.cluster, now) if self.ledger is not None else ()
        entries = (record.entry for record in found)
        return {
            entry.grant: entry.grant_expires
            for entry in entries
            if isinstance(entry, Attempt) and entry.grant_expires is not None
        }

    def look_up(self, ref: Ref) -> Object | None:
        """Return the live object, none where there is none; raise `NotKnown`."""
        try:
            return self.live(self.live_scope).one(ref)
        except LiveUnavailable as error:
            raise NotKnown(str(ref)) from error
        except KindUnavailable as error:
            self.unread[replace(ref, uid="")] = error.incomplete.why
            raise NotKnown(str(ref)) from error

    def declared_lookup(self) -> Lookup | None:
        """Return a lookup in what Git declares, none without Git. Raises `DeclaredUnreadable`."""
        return None if self.git is None else lookup_in(self.manifests(self.git))

    def field_states(self) -> LiveCheck:
        """Return the check whether a recorded change is still live, and whether Git has it.

        Raises `DeclaredUnreadable`.
        """
        return replace(self.live_states(), declared=self.declared_lookup())

    def live_states(self) -> LiveCheck:
        """Return the check whether a recorded change is still live, whatever Git declares."""
        return LiveCheck(self.look_up if self.has_live else _look_nowhere, None, self.masks)

    @property
    def live_failure(self) -> str:
        """Why live state cannot be read; empty where it can, or was not needed so far."""
        return str(self._live_failure or "")

    @property
    def incomplete(self) -> tuple[Incomplete, ...]:
        """What was needed and could not be read or opened so far."""
        failure = self._live_failure
        lost = [Incomplete(failure.place, str(failure))] if failure is not None else []
        unread = (Incomplete(f"{ref} could not be read", why) for ref, why in self.unread.items())
        return (*self.unopened, *lost, *unread)


@contextmanager
def open_evidence(options: EvidenceOptions) -> Iterator[Evidence]:
    """Open what *options* name. Raises `LedgerError` and `ClusterNotNamed`."""
    with ExitStack() as opened:
        evidence = Evidence(
            options.policy,
            git=options.git,
            live_folder=options.live_folder,
            connect=options.connect,
            is_ledger_required=options.is_ledger_required,
        )
        if options.audit_logs:
            evidence.audit = read_log(options.audit_logs, options.policy, options.on_audit_progress)
            opened.callback(evidence.audit.close)
        if options.ledger:
            evidence.masks = masks_for(options.keys, options.ledger)
            _open_ledger(evidence, options, opened)
        yield evidence


def _open_ledger(evidence: Evidence, options: EvidenceOptions, opened: ExitStack) -> None:
    try:
        ledger = open_ledger(options.ledger, create=False)
        opened.callback(ledger.close)
        evidence.cluster = (
            options.cluster if options.is_any_cluster else cluster_in(ledger, options.cluster)
        )
        evidence.ledger = ledger
    except LedgerError as error:
        if options.is_ledger_required:
            raise
        evidence.unopened = (*evidence.unopened, Incomplete(LEDGER, str(error)))


def cluster_in(ledger: Ledger, name: str = "") -> str:
    """Return *name*, or the only cluster that *ledger* knows; raises `ClusterNotNamed`."""
    if name:
        return name
    known = clusters_in(ledger)
    if len(known) > 1:
        raise ClusterNotNamed(tuple(known))
    return next(iter(known), "")


def masks_for(keys: Path | None, ledger: str) -> Masks | None:
    """Return what hidden values are compared with; none where no keys are at hand.

    A folder that was named must hold keys: without them, values would be called unknown that the
    person thinks are compared. Raises `LedgerError`.
    """
    if keys is not None:
        return open_masks(keys)
    try:
        return open_masks(keys_beside(ledger))
    except (AddressInvalid, KeyUnusable):
        return None


def _look_nowhere(_: Ref) -> Object | None:
    raise NotKnown
