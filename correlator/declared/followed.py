"""What a repository declares about single objects, read again when it has moved on."""

from dataclasses import dataclass, field

from correlator.declared import Address, DeclaredUnreadable, Release, fingerprint, read_declared
from correlator.declared.lookup import lookup_in
from correlator.standing import Lookup, NotKnown
from glasswarden.kube.objects import Object, Ref


@dataclass(slots=True)
class FollowedGit:
    """One repository. Nothing is read before somebody asks."""

    address: Address
    path: str = ""
    release: Release = field(default_factory=Release)
    home: str = ""
    """The namespace of objects that name none."""

    _state: object = field(default=None, init=False)
    _lookup: Lookup | None = field(default=None, init=False)
    _fresh: bool = field(default=False, init=False)

    def expire(self) -> None:
        """Have the next question find out whether the repository has moved on."""
        self._fresh = False

    def __call__(self, ref: Ref) -> Object | None:
        """Return what is declared about *ref*, none where nothing is; raise `NotKnown`."""
        try:
            return self._current()(ref)
        except DeclaredUnreadable as error:
            raise NotKnown(str(error)) from error

    def _current(self) -> Lookup:
        if self._lookup is not None and self._fresh:
            return self._lookup
        state = fingerprint(self.address, self.path)
        if self._lookup is None or state != self._state:
            manifests = read_declared(self.address, self.path, self.release)
            self._lookup, self._state = lookup_in(manifests, self.home), state
        self._fresh = True
        return self._lookup
