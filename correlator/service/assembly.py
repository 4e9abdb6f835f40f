"""How the parts of the correlator are put together."""

from collections.abc import Callable
from contextlib import ExitStack

from correlator.episodes.open import open_history
from correlator.service.model import Settings, Source, Tools
from correlator.service.passes import Passes
from correlator.service.program import Leadership, Program, Workshop, new_workshop
from correlator.service.sources import ArgoCDSource, AuditSource, GitSource, LedgerSource
from glasswarden.cluster.client import LONG, Access, ApiServer
from glasswarden.cluster.kubeconfig import open_access
from glasswarden.cluster.lease import Lease
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable
from glasswarden.ledger.keys import open_masks
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.open import keys_beside, open_ledger
from glasswarden.policy.policy import Policy

USER_AGENT = "glasswarden-correlator"


def new_program(settings: Settings, read_policy: Callable[[], Policy]) -> Program:
    """Return one replica of the correlator."""

    def open_(on_change: Callable[[], None]) -> Workshop:
        tools = _tools(settings, read_policy)
        return new_workshop(tools, Passes(_sources(tools, on_change), tools.history))

    def compete(on_gain: Callable[[], None]) -> Leadership:
        namespace, _, name = settings.lease.partition("/")
        server = ApiServer(_access(settings), USER_AGENT, patience=LONG)
        lease = Lease(server, namespace, name, settings.identity, settings.lease_duration)
        return Leadership(lease, on_gain)

    return Program(open_, settings.interval, settings.identity, compete if settings.lease else None)


def _tools(settings: Settings, read_policy: Callable[[], Policy]) -> Tools:
    with ExitStack() as opened:
        ledger = open_ledger(settings.ledger)
        opened.callback(ledger.close)
        history = open_history(settings.ledger)
        opened.callback(history.close)
        server = ApiServer(_access(settings), USER_AGENT)
        tools = Tools(
            settings,
            server,
            ledger,
            history,
            read_policy,
            _masks(settings),
        )
        opened.pop_all()
        return tools


def _sources(tools: Tools, on_change: Callable[[], None]) -> list[Source]:
    """Return what is asked in each pass; where two find the same, the first counts."""
    poll = tools.settings.interval.total_seconds()
    git = [GitSource(each, tools.server, poll, on_change) for each in tools.settings.sources]
    folder = tools.settings.audit
    audit = [AuditSource(folder)] if folder is not None else []
    argocd = [ArgoCDSource(tools.server, git)] if tools.settings.argocd else []
    return [*git, *argocd, LedgerSource(tools.server, git), *audit]


def _masks(settings: Settings) -> Masks | None:
    """Return what hidden values are compared with, where that is at hand."""
    if settings.keys is not None:
        return open_masks(settings.keys)
    try:
        return open_masks(keys_beside(settings.ledger))
    except (AddressInvalid, KeyUnusable):
        return None


def _access(settings: Settings) -> Access:
    return open_access(settings.kubeconfig, settings.choice)
