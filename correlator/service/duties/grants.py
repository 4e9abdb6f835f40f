"""How grants stand is shown to Prometheus, and told on the object when one is over."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog

from correlator.declared import Release, parse_address
from correlator.declared.followed import FollowedGit
from correlator.grants.expiry import expired, expiry_name, expiry_of
from correlator.grants.figures import figures_of
from correlator.grants.grant import Grant
from correlator.grants.owed import Key, Owed, key_of
from correlator.grants.stories import stories_since
from correlator.live.lookup import LiveObjects
from correlator.service import metrics
from correlator.service.passed import Passed
from correlator.service.sources_file import Declares
from correlator.service.tools import Tools
from correlator.standing import Answer, Looked, Lookup, NotKnown, Standing, Standings
from glasswarden.cluster.apiserver import AlreadyThere, ApiServer, ApiServerError
from glasswarden.kube.events import Reporter, manifest_of, url_of
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField

EVERY: Final = timedelta(seconds=30)
LOOK_BACK: Final = timedelta(days=30)
"""Grants that nothing happened to for longer are not looked at; `glasswarden grants` does the same.
"""

CONTROLLER: Final = "glasswarden.io/correlator"

log = structlog.get_logger()


def new_grants(tools: Tools) -> Callable[[Passed], None]:
    """Return what looks after grants, once in a while."""
    owed, git = Owed(), [_followed(each) for each in tools.settings.sources]
    expiries = Expiries(tools.server, Reporter(CONTROLLER, tools.settings.identity or "correlator"))
    last: datetime | None = None

    def grants(passed: Passed) -> None:
        nonlocal last
        if last is not None and passed.now - last < EVERY:
            return
        last = passed.now
        story = stories_since(tools.ledger, passed.now - LOOK_BACK, passed.cluster)
        for each in git:
            each.expire()
        looked = standings(LiveObjects(tools.server), declared_by(git), tools.masks)
        found = owed.look(story, looked, passed.now)
        metrics.show_grants(figures_of(found, passed.now))
        expiries.tell(expired(found, passed.now), passed.now)

    return grants


class Expiries:
    """Tells once of each grant that it is over; what another replica told is told."""

    def __init__(self, server: ApiServer, reporter: Reporter) -> None:
        self._server = server
        self._reporter = reporter
        self._told: set[Key] = set()

    def tell(self, grants: Sequence[Grant], now: datetime) -> None:
        """Tell of those of *grants* that are not told of yet; a failure is tried again."""
        self._told &= {key_of(grant) for grant in grants}
        for grant in grants:
            if key_of(grant) not in self._told and self._write(grant, now):
                self._told.add(key_of(grant))

    def _write(self, grant: Grant, now: datetime) -> bool:
        event = expiry_of(grant)
        manifest = manifest_of(event, expiry_name(grant), self._reporter, now)
        try:
            self._server.create(url_of(event), manifest)
        except AlreadyThere:
            return True
        except ApiServerError as error:
            log.warning("expiry not told", object=grant.subject, reason=str(error))
            return False
        return True


def standings(live: Lookup, declared: Lookup, masks: Masks | None) -> Standings:
    """Return what looks into Git only where a change is still live: reading it takes long."""
    in_cluster, in_git_too = Looked(live, None, masks), Looked(live, declared, masks)

    def standing(attempt: Attempt, change: ChangedField) -> Standing:
        found = in_cluster(attempt, change)
        return found if found.live is Answer.NO else in_git_too(attempt, change)

    return standing


def declared_by(repositories: Sequence[Lookup]) -> Lookup:
    """Return a look into all of *repositories*.

    While one of them cannot be read, what none of the others declares is not known.
    """

    def declared(ref: Ref) -> Object | None:
        unread: NotKnown | None = None
        for each in repositories:
            try:
                found = each(ref)
            except NotKnown as error:
                unread = error
                continue
            if found is not None:
                return found
        if unread is not None:
            raise unread
        return None

    return declared


def _followed(declares: Declares) -> FollowedGit:
    release = Release(declares.app, declares.namespace, tuple(map(Path, declares.values)))
    address = parse_address(declares.git)
    return FollowedGit(address, declares.path, release, declares.namespace)
