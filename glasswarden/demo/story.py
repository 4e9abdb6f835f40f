"""The recorded story: who typed what, and what the API server then asked the webhook."""

from importlib import resources

import msgspec


class Step(msgspec.Struct, frozen=True):
    """One command that a person typed."""

    title: str
    """What is about to happen, in a sentence."""

    person: str
    command: str
    """The command line, as typed."""

    review: msgspec.Raw
    """The AdmissionReview that it led to; JSON's null where the webhook was not asked."""

    before: str = ""
    """What kubectl printed before the webhook's words, or all of it where there were none."""

    @property
    def asked(self) -> bool:
        """Whether the API server asked the webhook."""
        return bytes(self.review) != b"null"


class Story(msgspec.Struct, frozen=True):
    """Commands in the order they were typed."""

    server: str
    """The version of the API server that it was recorded on."""

    steps: list[Step]


def recorded_story() -> Story:
    """Return the story that ships with the package."""
    recording = resources.files("glasswarden.demo").joinpath("recording.json")
    return msgspec.json.decode(recording.read_bytes(), type=Story)
