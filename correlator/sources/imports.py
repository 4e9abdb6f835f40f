"""The formats of other programs' findings that can be read from a file.

To add one: a module with a function from text to a `Result`, and its line in `IMPORTS`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from correlator.finding import Result
from correlator.sources.flux_diff import read_flux_diff
from correlator.sources.json_lines import read_json_lines
from correlator.sources.kubectl_diff import read_diff

IMPORTS: Final[Mapping[str, Callable[[str, str], Result]]] = {
    "argocd-diff": read_diff,
    "flux-diff": read_flux_diff,
    "json": read_json_lines,
    "kubectl-diff": read_diff,
}
"""How each format is read: its text, and the name of the source."""
