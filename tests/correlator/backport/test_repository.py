"""Commits on a new branch: nothing else of the repository is touched."""

import subprocess
from pathlib import Path

import pytest

from correlator.backport.errors import RepositoryUnusable
from correlator.backport.output import find_repository
from correlator.backport.working_copy import open_copy
from tests.correlator.backport.builders import WEB, written


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = written(tmp_path / "shop", {"deploy/web.yaml": WEB, "run.sh": "#!/bin/sh\n"})
    (folder / "run.sh").chmod(0o755)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "lead")
    git(folder, "config", "user.email", "lead@example.com")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Begin")
    return folder


def test_folder_is_found_with_its_repository(folder: Path) -> None:
    found = find_repository(folder / "deploy")
    assert (found.root.resolve(), found.folder) == (folder.resolve(), "deploy")


def test_commit_changes_adds_and_removes_files(folder: Path) -> None:
    repository = find_repository(folder)
    (folder / "deploy/web.yaml").write_text("edited, not committed\n")
    changed = {"run.sh": "#!/bin/bash\n", "new/a b.yaml": "a: 1\r\n", "deploy/web.yaml": None}
    repository.check_branch("inc-42")
    repository.commit(repository.commit_at("HEAD"), "inc-42", changed, "Subject\n")
    listed = git(folder, "ls-tree", "-r", "--format=%(objectmode) %(path)", "inc-42")
    assert listed.splitlines() == ["100644 new/a b.yaml", "100755 run.sh"]
    assert git(folder, "show", "inc-42:run.sh") == "#!/bin/bash"
    assert git(folder, "status", "--porcelain") == "M deploy/web.yaml"
    assert git(folder, "branch", "--show-current") == "main"


def test_existing_or_invalid_branch_is_rejected(folder: Path, tmp_path: Path) -> None:
    repository = find_repository(folder)
    for branch, why in (("main", "exists"), ("a..b", "no name for a branch")):
        with pytest.raises(RepositoryUnusable, match=why):
            repository.check_branch(branch)
    plain = written(tmp_path / "plain", {"web.yaml": WEB})
    with pytest.raises(RepositoryUnusable, match="no Git repository"):
        find_repository(plain).check_branch("x")


def test_copy_has_uncommitted_files_without_ignored_ones(folder: Path) -> None:
    written(folder, {"new.yaml": WEB, ".gitignore": "cache/\n", "cache/x": "x"})
    with open_copy(folder, "") as root:
        assert (root / "new.yaml").exists()
        assert not (root / "cache").exists()
        assert not (root / ".git").exists()
    with open_copy(folder, "HEAD") as root:
        assert not (root / "new.yaml").exists()
