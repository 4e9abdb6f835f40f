"""Argo CD: the tracking annotation, or the instance label where the installation uses that.

CustomResourceDefinitions are never marked by Argo CD, so it cannot be seen as their owner.
"""

from dataclasses import dataclass
from typing import Final, Literal

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject
from glasswarden.kube.objects import Ref

NAME: Final = "argocd"
TRACKING_ID: Final = "argocd.argoproj.io/tracking-id"
INSTALLATION_ID: Final = "argocd.argoproj.io/installation-id"
INSTANCE_LABEL: Final = "app.kubernetes.io/instance"

_TRACKING_PARTS: Final = 3

TrackingMethod = Literal["annotation", "label", "annotation+label"]


@dataclass(frozen=True, slots=True)
class ArgoCDSettings:
    """How one Argo CD installation marks its objects, as configured in its ``argocd-cm``."""

    tracking_method: TrackingMethod = "annotation"
    """``application.resourceTrackingMethod``."""
    instance_label_key: str = INSTANCE_LABEL
    """``application.instanceLabelKey``; read in ``label`` tracking only."""
    installation_id: str | None = None
    """``installationID``; none accepts every installation's objects."""


@dataclass(frozen=True, slots=True)
class TrackingId:
    """A parsed ``<app>:<group>/<kind>:<namespace>/<name>``."""

    app: str
    group: str
    kind: str
    namespace: str
    name: str

    def refers_to(self, ref: Ref) -> bool:
        """Tell whether the id was made for *ref* itself and not copied from another object.

        A cluster-scoped object carries the namespace that its application deploys to, so there the
        namespace says nothing (``isSelfReferencedObj`` in Argo CD).
        """
        return (self.group, self.kind, self.name) == (
            ref.group,
            ref.kind,
            ref.name,
        ) and ref.namespace in ("", self.namespace)


def argocd(settings: ArgoCDSettings | None = None) -> Engine:
    """Return the engine for an installation with *settings*, Argo CD's defaults if none."""
    settings = settings or ArgoCDSettings()
    if settings.tracking_method == "label":
        return _by_label(settings.instance_label_key)
    return _by_annotation(settings.installation_id)


def parse_tracking_id(text: str) -> TrackingId | None:
    """Return the tracking id that *text* spells, or nothing when it is malformed."""
    parts = text.split(":", 2)
    if len(parts) != _TRACKING_PARTS:
        return None
    app, group_kind, namespace_name = parts
    if group_kind.count("/") != 1 or namespace_name.count("/") != 1:
        return None
    group, kind = group_kind.split("/")
    namespace, name = namespace_name.split("/")
    return TrackingId(app, group, kind, namespace, name) if app and kind and name else None


def _by_annotation(installation_id: str | None) -> Engine:
    # `annotation+label` reads the annotation too: its label is for people and other tools.
    tracking, installation = Mark("annotation", TRACKING_ID), Mark("annotation", INSTALLATION_ID)

    def claim(subject: Subject) -> Owner | None:
        tracking_id = parse_tracking_id(subject.annotation(TRACKING_ID))
        if tracking_id is None or not tracking_id.refers_to(subject.ref):
            return None
        if installation_id not in (None, subject.annotation(INSTALLATION_ID)):
            return None
        return _application(tracking_id.app)

    return Engine(NAME, marks=(tracking, installation), signs=(tracking,), claim=claim)


def _by_label(key: str) -> Engine:
    # A label cannot tell whom it was made for: any chart that sets the key looks owned, which is
    # also what Argo CD itself believes. It ignores the installation id in this method.
    mark = Mark("label", key)

    def claim(subject: Subject) -> Owner | None:
        instance = subject.label(key)
        return _application(instance) if instance else None

    return Engine(NAME, marks=(mark,), signs=(mark,), claim=claim)


def _application(instance: str) -> Owner:
    # Applications outside Argo CD's own namespace are written `<namespace>_<name>`; no Kubernetes
    # name contains an underscore.
    namespace, _, name = instance.rpartition("_")
    return Owner(NAME, name, namespace or None, "Application")


ENGINE: Final = argocd()
