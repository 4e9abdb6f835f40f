"""Operations that a policy may call harmless, recognised by exactly what they change."""

from typing import Final

from glasswarden.kube.diff import are_covered
from glasswarden.kube.path_patterns import PathPattern, parse_pattern
from glasswarden.policy.document import Benign
from glasswarden.policy.write import Operation, Write

_RESTART: Final = parse_pattern(
    "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"
)
_PAUSED: Final = parse_pattern("/spec/paused")
_TEMPLATE: Final = parse_pattern("/spec/template/**")

# `kubectl rollout undo` names no field manager, so the API server takes the program's name. That is
# also what `kubectl apply --server-side` calls itself, but it applies.
_UNDO: Final = ("kubectl", "Update")


def benign_operation(write: Write) -> Benign | None:
    """Return which of the harmless operations *write* is, if it is one."""
    if write.operation is not Operation.UPDATE or write.target.group != "apps":
        return None
    if _only(write, _RESTART):
        return Benign.ROLLOUT_RESTART
    if _only(write, _PAUSED):
        return Benign.ROLLOUT_PAUSE
    if _is_by_undo(write) and _only(write, _TEMPLATE):
        return Benign.ROLLOUT_UNDO
    return None


def _is_by_undo(write: Write) -> bool:
    return (
        not write.subresource
        and write.manager == _UNDO[0]
        and all((change.manager, change.operation) == _UNDO for change in write.changes)
    )


def _only(write: Write, pattern: PathPattern) -> bool:
    """Tell whether *write* changes something, and nothing but what *pattern* speaks about."""
    return bool(write.changes) and are_covered(write.changes, (pattern,))
