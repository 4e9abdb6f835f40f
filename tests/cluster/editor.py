"""An $EDITOR without hands: replaces text in the file that `kubectl edit` opened.

What to replace comes in an environment variable, as a JSON list of pairs. If a text to be replaced
is not there, it fails rather than leave the file as it was: kubectl would call that "no changes".
"""

import json
import os
import sys
from pathlib import Path
from typing import Final

VARIABLE: Final = "GLASSWARDEN_TEST_EDIT"


def edit(text: str, pairs: list[tuple[str, str]]) -> str:
    """Return *text* with the first occurrence of each pair's left side replaced by its right."""
    for old, new in pairs:
        if old not in text:
            sys.exit(f"the scripted editor found no {old!r} in:\n{text}")
        text = text.replace(old, new, 1)
    return text


if __name__ == "__main__":
    file = Path(sys.argv[-1])
    file.write_text(edit(file.read_text(), json.loads(os.environ[VARIABLE])))
