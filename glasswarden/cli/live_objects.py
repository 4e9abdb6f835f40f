"""Live objects through the person's own kubectl, each read once."""

from correlator.standing import NotKnown
from glasswarden.cli.kubectl import Kubectl, KubectlFailed
from glasswarden.kube.objects import Object, Ref


class LiveObjects:
    """Looks objects up, and remembers what could not be looked at."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._found: dict[Ref, Object | NotKnown | None] = {}
        self.complaints: list[str] = []

    def __call__(self, ref: Ref) -> Object | None:
        """Return the object that is live, none where there is none; raise `NotKnown`."""
        if ref not in self._found:
            self._found[ref] = self._read(ref)
        found = self._found[ref]
        if isinstance(found, NotKnown):
            raise found
        return found

    def _read(self, ref: Ref) -> Object | NotKnown | None:
        try:
            return self._kubectl.find(ref)
        except KubectlFailed as error:
            self.complaints.append(f"{ref} could not be read: {error}")
            return NotKnown(str(error))
