"""Live lookup of single objects."""

from correlator.still_live import NotKnown
from glasswarden.cluster.client import ApiServer, ApiServerError, NotFound
from glasswarden.cluster.discovery import Served, served_by
from glasswarden.kube.objects import Object, Ref


class LiveObjects:
    """Looks each object up once; made anew for each pass. Belongs to one thread."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._served: Served | None = None
        self._seen: dict[Ref, Object | None] = {}

    def __call__(self, ref: Ref) -> Object | None:
        """Return the object, none where there is none; raise `NotKnown`."""
        if ref not in self._seen:
            self._seen[ref] = self._read(ref)
        return self._seen[ref]

    def _read(self, ref: Ref) -> Object | None:
        try:
            if self._served is None:
                self._served = served_by(self._server)
            resource = self._served.resources.get((ref.group, ref.version, ref.kind))
            if resource is None:
                # Its kind may be deleted, with all of its objects, or its server unavailable.
                raise NotKnown(str(ref))
            return self._server.get(resource.url(ref.namespace, ref.name))
        except NotFound:
            return None
        except ApiServerError as error:
            raise NotKnown(str(ref)) from error
