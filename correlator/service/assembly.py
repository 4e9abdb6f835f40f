"""How the parts of the correlator are put together."""

from collections.abc import Callable
from contextlib import ExitStack

from correlator.episodes.open import open_history
from correlator.inspection.evidence import masks_for
from correlator.inspection.inspect import Source
from correlator.inspection.sources import argocd_core_source, ledger_source
from correlator.service.model import Settings, Tools
from correlator.service.passes import Passes
from correlator.service.program import Leadership, Program, Workshop, new_workshop
from correlator.service.sources import AuditFolderSource, RestingSource, new_git_source
from glasswarden.cluster.client import LONG, Access, ApiServer
from glasswarden.cluster.kubeconfig import open_access
from glasswarden.cluster.lease import Lease
from glasswarden.ledger.open import open_ledger
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
            masks_for(settings.keys, settings.ledger),
        )
        opened.pop_all()
        return tools


def _sources(tools: Tools, on_change: Callable[[], None]) -> list[Source]:
    """Return what is asked in each pass; where two find the same, the first counts."""
    git = [new_git_source(each, tools, on_change) for each in tools.settings.sources]
    folder = tools.settings.audit
    audit = [AuditFolderSource(folder)] if folder is not None else []
    argocd = [argocd_core_source("argocd")] if tools.settings.argocd else []
    return [*git, *argocd, RestingSource(ledger_source("ledger")), *audit]


def _access(settings: Settings) -> Access:
    return open_access(settings.kubeconfig, settings.choice)
