"""What a person typed, as far as a write lets on. A hint: managers can be chosen freely."""

from typing import Final

_VERBS: Final = {
    "kubectl-client-side-apply": "apply",
    "kubectl-set": "set",
    "kubectl-rollout": "rollout",
}
_PREFIX: Final = "kubectl-"


def infer_verb(operation: str, subresource: str, manager: str, manager_operation: str) -> str:
    """Return the kubectl verb of a write, such as ``edit`` or ``scale``; empty if unknown."""
    if operation == "DELETE":
        return "delete"
    if subresource:
        return subresource
    if manager_operation == "Apply":
        return "apply"
    if manager in _VERBS:
        return _VERBS[manager]
    if manager.startswith(_PREFIX):
        return manager.removeprefix(_PREFIX)
    return "create" if operation == "CREATE" else ""
