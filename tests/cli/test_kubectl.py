"""The person's own kubectl, and its words."""

from pathlib import Path

import pytest

from glasswarden.cli.options import Kubectl, KubectlFailed


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("error: unknown flag: --x", "unknown flag: --x"),
        (
            'Error from server (Forbidden): admission webhook "guard.glasswarden.io" denied it',
            'admission webhook "guard.glasswarden.io" denied it',
        ),
        ("Error from server (NotFound): no web", "Error from server (NotFound): no web"),
        ("", "kubectl ended with 1"),
    ],
    ids=["its own error", "a denial of ours", "the API server's", "silence"],
)
def test_error_prefix_of_kubectl_is_removed(tmp_path: Path, said: str, shown: str) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(KubectlFailed) as failed:
        Kubectl(str(program), ()).get("deploy/web")
    assert failed.value.message == shown
