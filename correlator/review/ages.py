"""Since when a rule leaves differences alone, as far as its object tells."""

from datetime import datetime
from typing import Final

from correlator.finding import parse_time
from glasswarden.kube.managed import entries_of, owners_at
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import path_of

_RULES: Final = path_of("spec", "ignoreDifferences")


def ignored_since(application: Object) -> datetime | None:
    """Return since when, at the latest, *application* has its rules; none where nobody tells.

    A manager's time is that of its last write to the object, and it had written them by then.
    """
    holders = owners_at(entries_of(application), _RULES)
    times = [time for each in holders if (time := parse_time(each.time)) is not None]
    return min(times, default=None)
