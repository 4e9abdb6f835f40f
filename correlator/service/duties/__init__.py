"""What is done after each pass, by the replica that leads.

To add a duty: one file with a function that takes the `Tools` and returns what is called after
each pass, and its line in `DUTIES`. A duty that raises costs itself only; it is logged and counted.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from correlator.service.duties.forget import new_forget
from correlator.service.duties.grants import new_grants
from correlator.service.duties.notify import new_notify
from correlator.service.passed import Passed
from correlator.service.tools import Tools

Duty: TypeAlias = Callable[[Passed], None]

DUTIES: Final[dict[str, Callable[[Tools], Duty]]] = {
    "forget": new_forget,
    "grants": new_grants,
    "notify": new_notify,
}
"""Each by the name that logs and metrics give it, in the order they are done."""
