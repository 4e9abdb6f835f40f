"""From what differs to what it means: who did it, what kind it is, and what may be shown of it."""

from collections.abc import Sequence

from correlator.classify import Scene, classified
from correlator.finding import Finding, without_secrets
from correlator.linking import Linking, unlinked


def concluded(
    findings: Sequence[Finding], scene: Scene, linked: Linking = unlinked
) -> tuple[Finding, ...]:
    """Return *findings* linked, then classified; hidden values are compared first, then hidden."""
    told = (classified(each, scene) for each in linked(findings))
    return tuple(without_secrets(each, scene.policy) for each in told)
