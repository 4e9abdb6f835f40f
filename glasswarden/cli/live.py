"""Objects as they are live, through the person's own kubectl."""

import click

from correlator.standing import NotKnown
from glasswarden.cli.kubectl import Kubectl
from glasswarden.kube.objects import Object, Ref


class Live:
    """Looks each object up once, and remembers which could not be read."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._seen: dict[Ref, Object | None] = {}
        self.unread: dict[Ref, str] = {}
        """What could not be read, and what kubectl said about it."""

    def __call__(self, ref: Ref) -> Object | None:
        """Return the object, none where there is none; raise `NotKnown`."""
        if ref in self.unread:
            raise NotKnown(str(ref))
        if ref not in self._seen:
            try:
                self._seen[ref] = self._kubectl.find(ref)
            except click.ClickException as error:
                self.unread[ref] = error.message
                raise NotKnown(str(ref)) from error
        return self._seen[ref]
