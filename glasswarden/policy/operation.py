"""What a write does: as admission says it, and as a break-glass rule does."""

from enum import StrEnum


class Operation(StrEnum):
    """What admission calls the act; a PATCH or an apply arrives as one of the first two."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class GrantOperation(StrEnum):
    """What a grant lets somebody do."""

    UPDATE = "update"
    SCALE = "scale"
    DELETE = "delete"
    CREATE = "create"
