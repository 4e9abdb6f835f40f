"""Whose application it is, by the labels of its objects: where no service was told."""

from collections.abc import Iterable

from glasswarden.kube.objects import Object


def teams_of(objects: Iterable[tuple[str, Object]]) -> dict[str, str]:
    """Return the team of each application, or its teams, by its name and *objects*."""
    named: dict[str, set[str]] = {}
    for app, obj in objects:
        if team := _team(obj):
            named.setdefault(app, set()).add(team)
    return {app: ", ".join(sorted(teams)) for app, teams in named.items()}


def _team(obj: Object) -> str:
    """Return what the label `team` says, or one that ends so, such as `example.com/team`."""
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict):
        return ""
    own = [str(value) for key, value in labels.items() if key.rpartition("/")[2] == "team"]
    return str(labels.get("team") or next(iter(own), ""))
