"""An engine that does not exist: `test_contract` adds it to a copy of the program.

It uses every part of an `Engine` that other engines use, and imports nothing else than they do.
"""

from typing import Final

from glasswarden.kube.engines import cel
from glasswarden.kube.engines.engine import (
    CelClaim,
    ClusterReader,
    Controller,
    Detected,
    Drift,
    DriftedField,
    Engine,
    GetObject,
    GitLocation,
    Mark,
    Owner,
    Subject,
    service_accounts,
)
from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.paths import path_of

NAME: Final = "acme"
APP: Final = Mark("label", "acme.example/app")


def _claim(subject: Subject) -> Owner | None:
    app = subject.read(APP)
    return Owner(NAME, app, None, "Pipeline") if app else None


def _git_location(owner: Owner, get: GetObject) -> GitLocation:
    spec = get("acme.example/v1", owner.namespace or "", "pipelines", owner.app)["spec"]
    return GitLocation(spec["git"], spec["folder"], "main")


def _detect(cluster: ClusterReader) -> Detected | None:
    users = cluster.accounts("app=acme")
    return Detected("Acme", controllers=tuple(Controller(user, "app=acme") for user in users))


def _is_hook(obj: Object, _kind: str) -> bool:
    return "acme.example/hook" in annotations_of(obj)


def _keeps(live: Object) -> str:
    return "acme.example/keep" if "acme.example/keep" in annotations_of(live) else ""


def _leaves_alone(manifest: Object, _kind: str) -> str:
    return "created once" if "acme.example/once" in annotations_of(manifest) else ""


def _ignore_rule(field: DriftedField) -> str:
    return f"acme ignore {field.path}"


def _revert_command(field: DriftedField) -> str:
    return f"acme deploy {field.owner.app}"


def _is_diverted(_before: Object, after: Object) -> bool:
    return after.get("operation") == "elsewhere"


ENGINE: Final = Engine(
    name=NAME,
    title="Acme Deploy",
    marks=(APP,),
    signs=(APP,),
    claim=_claim,
    cel_claims=(CelClaim(cel.has_values(APP), cel.value_of(APP)),),
    controllers=service_accounts("acme-system", "deployer"),
    kinds={"acme.example": ("Pipeline",)},
    short_names={"Pipeline": "pl"},
    switches=frozenset({"acme.example/pause"}),
    suspensions=(path_of("spec", "paused"),),
    diverts=_is_diverted,
    git_location=_git_location,
    home_namespace="acme-system",
    detect=_detect,
    drift=Drift(
        field_managers=frozenset({"acme-deployer"}),
        appliers={"Pipeline": "acme-deployer"},
        manager_prefixes=("acme",),
        people=frozenset({"acme-ui"}),
        domains=frozenset({"acme.example"}),
        keys=frozenset({"example.com/acme"}),
        sources=frozenset({"acme"}),
        is_hook=_is_hook,
        keeps=_keeps,
        leaves_alone=_leaves_alone,
        ignore_rule=_ignore_rule,
        ignores_declared_fields=True,
        revert_command=_revert_command,
    ),
)
