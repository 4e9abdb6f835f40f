"""A policy from a file, or a sentence with the place of the mistake, as compilers write it."""

from pathlib import Path

from glasswarden.policy.load import PolicyInvalid, parse_document
from glasswarden.policy.policy import Policy, policy_of


class PolicyUnreadable(Exception):
    """The policy file cannot be read, or is no policy; mend it."""


def load_policy(path: Path) -> Policy:
    """Return the policy in the file at *path*, or raise `PolicyUnreadable`."""
    return parse_policy(path, read_text(path))


def read_text(path: Path) -> str:
    """Return the text of the file at *path*, or raise `PolicyUnreadable`."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyUnreadable(f"{path}: {error}") from error


def parse_policy(path: Path, text: str) -> Policy:
    """Return the policy that *text* spells; *path* is named in the mistake."""
    try:
        return policy_of(parse_document(text))
    except PolicyInvalid as error:
        mistake = error.mistake
        place = f"{path}:{mistake.line}:{mistake.column}"
        raise PolicyUnreadable(f"{place}: {mistake.message}") from error
    except RecursionError as error:
        # A regular expression, say: the YAML itself is looked at by `typed_yaml`.
        raise PolicyUnreadable(f"{path}: something in it is nested too deep") from error
