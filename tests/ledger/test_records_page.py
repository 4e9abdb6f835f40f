"""What docs/records.md says about records is true."""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from glasswarden.ledger import record
from glasswarden.ledger.fsck.findings import Finding
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.transfer import export_lines
from tests.ledger.builders import SIGNER
from tests.ledger.fsck.builders import STRANGER, two_chains

PAGE = (Path(__file__).parents[2] / "docs" / "records.md").read_text()
COMMON = set(record.Entry.__struct_fields__)
KINDS = {
    str(kind.__struct_config__.tag): kind
    for kind in record.Entry.__subclasses__()
    if kind not in (record.Foreign, record.Damaged)
}


def documented(section: str) -> set[str]:
    """Return the names in the first column of the table in *section*."""
    [text] = re.findall(rf"^### {section}\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_common_fields_are_explained() -> None:
    assert documented("every record") == COMMON | {"type"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_record_type_is_explained(kind: str) -> None:
    assert documented(kind) == set(KINDS[kind].__struct_fields__) - COMMON


def test_every_field_of_a_change_is_explained() -> None:
    assert documented("change") == set(record.ChangedField.__struct_fields__)


def test_every_finding_is_explained() -> None:
    table = PAGE.partition("## fsck")[2]
    explained = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|$", table, re.MULTILINE)
    assert explained == [str(kind.__struct_config__.tag) for kind in Finding.__subclasses__()]


class TestDocumentedVerifier:
    """The script on the page, run as it stands there on an export."""

    @pytest.fixture
    def lines(self, tmp_path: Path) -> list[bytes]:
        with closing(open_ledger(f"sqlite://{tmp_path}/ledger.db")) as ledger:
            two_chains(ledger)
            return list(export_lines(ledger))

    @staticmethod
    def verified(
        lines: list[bytes], key: str = SIGNER.public_key
    ) -> subprocess.CompletedProcess[bytes]:
        [script] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        return subprocess.run(
            [sys.executable, "-c", script, key],
            input=b"".join(lines),
            capture_output=True,
            check=False,
        )

    def test_verifier_accepts_a_whole_export(self, lines: list[bytes]) -> None:
        done = self.verified(lines)
        assert (done.stdout, done.stderr) == (b"2 chains verified\n", b"")

    def test_verifier_rejects_an_edited_line(self, lines: list[bytes]) -> None:
        [first, *_] = [each for each in lines if b'"developer"' in each]
        edited = [each.replace(b'"developer"', b'"outsider!"') for each in lines if each == first]
        done = self.verified(edited + [each for each in lines if each != first])
        assert b"AssertionError: edited" in done.stderr

    def test_verifier_finds_a_removed_line(self, lines: list[bytes]) -> None:
        kept = [each for each in lines if b'"sequence":3,' not in each]
        assert b"KeyError: 3" in self.verified(kept).stderr

    def test_verifier_rejects_an_untrusted_key(self, lines: list[bytes]) -> None:
        assert b"InvalidSignature" in self.verified(lines, STRANGER.public_key).stderr
