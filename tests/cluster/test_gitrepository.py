"""The repository on loopback is one that Git itself can clone, and nobody can push to."""

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.gitrepository import LARGEST_REQUEST, GitRepository, git_environment


def git(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments],
        env=git_environment(home),
        capture_output=True,
        text=True,
        check=False,
    )


def test_committed_files_can_be_cloned(git_repository: GitRepository, tmp_path: Path) -> None:
    git_repository.commit({"a/b.txt": "one", "gone.txt": "x"}, "first")
    head = git_repository.commit({"a/b.txt": "two", "gone.txt": None}, "second")
    clone = tmp_path / "clone"
    assert git(tmp_path, "clone", git_repository.url, str(clone)).returncode == 0
    assert (clone / "a/b.txt").read_text() == "two"
    assert not (clone / "gone.txt").exists()
    assert git(tmp_path, "-C", str(clone), "rev-parse", "main").stdout.strip() == head


def test_push_is_rejected(git_repository: GitRepository, tmp_path: Path) -> None:
    git_repository.commit({"a.txt": "one"}, "first")
    clone = str(tmp_path / "clone")
    git(tmp_path, "clone", git_repository.url, clone)
    git(tmp_path, "-C", clone, "commit", "--allow-empty", "--message=mine")
    refused = git(tmp_path, "-C", clone, "push", "origin", "HEAD:refs/heads/mine")
    assert refused.returncode != 0
    assert "403" in refused.stderr


def test_large_request_is_rejected(git_repository: GitRepository) -> None:
    request = urllib.request.Request(  # noqa: S310  (our own address)
        f"{git_repository.url}/git-upload-pack",
        headers={"Content-Length": str(LARGEST_REQUEST + 1)},
    )
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(request, timeout=5)  # noqa: S310
    assert refusal.value.code == 413
    refusal.value.close()
