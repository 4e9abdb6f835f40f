"""A policy to begin with, from what a survey found; every line says why it is there. Pure."""

import json
from collections.abc import Iterator

from glasswarden.policy.matching import names_of
from glasswarden.policy.policy import CONTROLLERS, DELEGATIONS
from glasswarden.setup.survey import ArgoCDFound, Stranger, Survey

HEAD = """\
# Proposed from a look at the cluster. Read it before you use it: a trusted controller is never
# asked about, and a delegate's fields are nobody else's business.
apiVersion: glasswarden.io/v1
kind: Policy
"""


def propose(survey: Survey) -> str:
    """Return a policy file."""
    lines = [
        *_modes(survey),
        *_engines(survey),
        *_delegations(survey),
        *(f"# not looked at: {reason}" for reason in survey.unread),
    ]
    return HEAD + "\n".join(lines) + "\n"


def _modes(survey: Survey) -> Iterator[str]:
    total = sum(survey.managed.values())
    kinds = ", ".join(f"{count} of {name}" for name, count in sorted(survey.managed.items()))
    yield ""
    yield f"# {total} marked objects were seen{f': {kinds}' if kinds else ''}."
    if survey.by_people:
        yield f"# On {survey.by_people} of them a person's tool owns a field: drift, or habit."
    yield "# Watch first; enforce when the records hold no surprise."
    yield "mode: audit"
    yield "reconcilers: audit"


def _engines(survey: Survey) -> Iterator[str]:
    others = [each for each in survey.engines if each not in ("argocd", "flux")]
    if others:
        yield ""
        yield f"# Also found, and guarded with its usual controllers: {', '.join(others)}."
    argocd, flux = [*_argocd(survey.argocd)], [*_flux(survey)]
    if survey.argocd:
        yield ""
        yield f"# Argo CD in {', '.join(each.namespace for each in survey.argocd)}{_usual(argocd)}."
    if survey.flux or "flux" in survey.engines:
        yield ""
        yield f"# Flux{_usual(flux)}."
    if argocd or flux:
        yield "engines:"
    if argocd:
        yield "  argocd:"
        yield from argocd
    if flux:
        yield "  flux:"
        yield from flux


def _usual(lines: list[str]) -> str:
    return "" if lines else ", set up as usual: the defaults serve"


def _argocd(found: tuple[ArgoCDFound, ...]) -> Iterator[str]:
    if not found:
        return
    first, *rest = found
    if first.tracking in ("label", "annotation+label"):
        yield f"    tracking: {first.tracking}  # application.resourceTrackingMethod of argocd-cm"
    if first.instance_label_key:
        key = _text(first.instance_label_key)
        yield f"    instanceLabelKey: {key}  # application.instanceLabelKey of argocd-cm"
    if first.installation_id and not rest:
        yield f"    installationID: {_text(first.installation_id)}  # installationID of argocd-cm"
    controllers = {name: each.namespace for each in found for name in each.controllers}
    usual = names_of(CONTROLLERS["argocd"])
    unusual = [name for name in controllers if name not in usual]
    if unusual:
        yield "    controllers:"
        yield from _users(CONTROLLERS["argocd"], "usual")
        for name in unusual:
            yield f"      - {_text(name)}  # Argo CD in {controllers[name]}"


def _flux(survey: Survey) -> Iterator[str]:
    usual = names_of(CONTROLLERS["flux"])
    unusual = [name for name in survey.flux if name not in usual]
    tenants = [name for name in survey.tenants if name not in usual]
    if unusual or tenants:
        yield "    controllers:"
        yield from _users(CONTROLLERS["flux"], "usual")
        yield from _users(unusual, "a Deployment of part-of=flux runs as this")
        yield from _users(tenants, "spec.serviceAccountName of a Kustomization or HelmRelease")


def _users(names: tuple[str, ...] | list[str], reason: str) -> list[str]:
    return [f"      - {_text(name)}  # {reason}" for name in names]


def _delegations(survey: Survey) -> Iterator[str]:
    if survey.autoscalers:
        yield ""
        yield f"# {survey.autoscalers} autoscalers: `replicas` is theirs by default."
    moved = [*_moved(survey)]
    if moved:
        yield ""
        yield "delegations:"
        yield from moved
    for stranger in survey.strangers:
        yield from _question(stranger)


def _moved(survey: Survey) -> Iterator[str]:
    """Yield the usual delegates that run under another name here."""
    for name, users in (("cert-manager", survey.cert_managers), ("keda", survey.kedas)):
        [usual] = [each for each in DELEGATIONS if each.name == name]
        others = [user for user in users if user not in usual.actors]
        if others:
            yield f"  # {name} runs under another name than usual"
            yield f"  - name: {name}-here"
            yield f"    actors: {json.dumps(others)}"
            yield f"    fields: {json.dumps(list(usual.fields))}"


def _question(stranger: Stranger) -> Iterator[str]:
    """Yield a delegation for a person to decide about: anybody can choose a manager's name."""
    yield ""
    yield f"# The field manager {_text(stranger.name)} owns fields of {stranger.objects} objects."
    yield "# Whose is it? If these fields are its own, name its user and take the marks off:"
    yield f"#  - name: {_text(stranger.name)}"
    yield "#    actors: [system:serviceaccount:NAMESPACE:NAME]"
    yield f"#    fields: {json.dumps(list(stranger.fields))}"


def _text(value: str) -> str:
    """Return *value* as YAML; a JSON string is one."""
    return value if value.replace("-", "").replace(":", "").isalnum() else json.dumps(value)
