"""Reading a policy file: text in, a `Document` out, or the line and column of the mistake."""

from typing import Any

import msgspec

from glasswarden.policy.document import Document
from glasswarden.policy.objections import objections
from glasswarden.policy.typed_yaml import Mistake, TextInvalid, parse_typed


class PolicyInvalid(Exception):
    """The text is no policy; mend what `mistake` names."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def parse_document(text: str) -> Document:
    """Return the policy document in *text*, or raise `PolicyInvalid`."""
    try:
        typed = parse_typed(text, Document, "policy")
    except TextInvalid as error:
        raise PolicyInvalid(error.mistake) from error
    for place, message in objections(typed.value):
        raise PolicyInvalid(typed.mistake(place, message))
    return typed.value


def document_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file."""
    return msgspec.json.schema(Document)
