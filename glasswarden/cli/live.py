"""Objects as they are live: through the person's own kubectl, or from files taken with it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from correlator.declared import DeclaredUnreadable
from correlator.declared.plain import read_plain
from correlator.standing import NotKnown
from glasswarden.cli.kinds import KindUnknown, kind_of
from glasswarden.cli.kubectl import Kubectl
from glasswarden.kube.objects import Object, Ref, ref_of

live_option = click.option(
    "--live",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Objects taken with `kubectl get -o yaml --show-managed-fields`, instead of a cluster.",
)


def looking(folder: Path | None, kubectl: Callable[[], Kubectl]) -> "Live | Snapshot":
    """Return who looks objects up: in *folder* where one is given, else through *kubectl*."""
    return Live(kubectl()) if folder is None else Snapshot(folder)


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


class Snapshot:
    """The objects in a folder; of what is not among them nothing is known."""

    def __init__(self, folder: Path) -> None:
        """Read *folder*, or end with why it cannot be read."""
        try:
            found = read_plain(folder)
        except DeclaredUnreadable as error:
            raise click.ClickException(str(error)) from error
        self._objects = [each.manifest for each in found.objects]
        self._folder = folder
        self.unread: dict[Ref, str] = {}
        """What was asked for and is not in the folder."""

    def __call__(self, ref: Ref) -> Object:
        """Return the object; raise `NotKnown`."""
        for obj, found in self._each(ref.kind):
            if (found.group, found.namespace, found.name) == (ref.group, ref.namespace, ref.name):
                return obj
        self.unread[ref] = f"it is not in {self._folder}"
        raise NotKnown(str(ref))

    def get(self, target: str, namespace: str) -> Object:
        """Return what *target*, as kubectl takes it, names in *namespace*; or end."""
        found = self.find(target, namespace)
        if found is None:
            raise click.ClickException(f"{self._folder} has no {target} in {namespace}")
        return found

    def find(self, target: str, namespace: str) -> Object | None:
        """Return what *target* names, none where the folder does not have it."""
        word, _, name = target.partition("/")
        try:
            kind = kind_of(word)
        except KindUnknown as error:
            raise click.BadParameter(str(error)) from error
        for obj, found in self._each(kind):
            if (found.namespace, found.name) in {(namespace, name), ("", name)}:
                return obj
        return None

    def _each(self, kind: str) -> Iterator[tuple[Object, Ref]]:
        for obj in self._objects:
            ref = ref_of(obj)
            if ref.kind == kind:
                yield obj, ref
