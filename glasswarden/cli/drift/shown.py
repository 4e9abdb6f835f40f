"""How findings are shown, and how the command ends because of them."""

import json
import shutil
from typing import Final

from correlator.finding import Response, Result, result_as_json
from correlator.output.markdown import render_markdown
from correlator.output.table import render_table

UNKNOWN_WIDTH: Final = 120
"""Columns where there is no terminal to ask."""

FORMATS: Final = ("table", "json", "markdown")


def rendered(result: Result, form: str) -> str:
    """Return *result* in one of `FORMATS`."""
    match form:
        case "json":
            return json.dumps(result_as_json(result), indent=2)
        case "markdown":
            return render_markdown(result).rstrip("\n")
        case _:
            return render_table(result, shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns)


def exit_code_of(result: Result) -> int:
    """Return how a check ends: 1 for drift that counts, 2 where something was not looked at."""
    if any(each.verdict and each.verdict.response != Response.IGNORE for each in result.findings):
        return 1
    return 2 if result.incomplete else 0
