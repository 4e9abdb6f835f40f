"""`declared`: plain folders and Git repositories, with the real git."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from correlator.declared.errors import DeclaredUnreadable, ProgramMissing
from correlator.declared.git import Address, parse_address
from correlator.declared.manifests import Manifests
from correlator.declared.read import read_declared
from correlator.declared.render import Release
from correlator.finding import Incomplete

Write = Callable[..., Path]


def a_config(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes files into a folder and returns the folder."""

    def writing(**files: str) -> Path:
        folder = tmp_path / "work"
        for name, text in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return folder

    return writing


def git(folder: Path, *arguments: str) -> str:
    person = {"NAME": "Test", "EMAIL": "test@example.org"}
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{key}": person[key] for role in ("AUTHOR", "COMMITTER") for key in person},
    }
    done = subprocess.run(
        ["git", "-C", folder, *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def committed(folder: Path) -> str:
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=a change")
    return git(folder, "rev-parse", "HEAD")


def read(place: Path | str, revision: str = "", path: str = "") -> Manifests:
    return read_declared(Address(str(place), revision), path, Release())


def names(manifests: Manifests) -> list[str]:
    return [each.manifest["metadata"]["name"] for each in manifests.objects]


def test_folder_declares_the_objects_of_its_files(write: Write) -> None:
    folder = write(
        **{
            "a.yaml": a_config("a"),
            "sub/b.yml": a_config("b"),
            "sub/c.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}',
            "README.md": "# not a manifest",
            ".github/workflow.yaml": "on: push",
        }
    )
    found = read(folder)
    assert names(found) == ["a", "b", "c"]
    assert found.objects[1].origin == "sub/b.yml:1"
    assert found.incomplete == ()


def test_subfolder_is_selected_by_path(write: Write) -> None:
    folder = write(**{"a/x.yaml": a_config("a"), "b/x.yaml": a_config("b")})
    assert names(read(folder, path="b")) == ["b"]


def test_broken_file_does_not_affect_others(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a"), "b.yaml": "a: b: c"})
    (folder / "c.yaml").write_bytes(b"\xff\xfe")
    found = read(folder)
    assert names(found) == ["a"]
    assert [each.what for each in found.incomplete] == ["b.yaml, line 1", "c.yaml"]


def test_chart_inside_a_folder_is_reported_as_incomplete(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a"), "chart/Chart.yaml": "name: chart"})
    [incomplete] = read(folder).incomplete
    assert incomplete.what == "chart"
    assert "--path" in incomplete.why


def test_link_to_a_parent_folder_does_not_loop(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a")})
    (folder / "loop").symlink_to(folder)
    assert names(read(folder)) == ["a"]


@pytest.mark.parametrize("file", ["README.md", "a.yaml.tpl", "a.yaml"])
def test_folder_without_manifests_is_incomplete(write: Write, file: str) -> None:
    folder = write(**{f"apps/{file}": "# nothing"})
    [incomplete] = read(folder, path="apps").incomplete
    assert incomplete.what == "apps"
    assert "no manifest" in incomplete.why


@pytest.mark.parametrize("path", ["../secrets", "/etc"])
def test_path_outside_of_the_repository_is_rejected(write: Write, path: str) -> None:
    with pytest.raises(DeclaredUnreadable, match="outside"):
        read(write(**{"a.yaml": a_config("a")}), path=path)


@pytest.mark.parametrize("path", ["nowhere", "a.yaml/b"])
def test_missing_path_is_reported(write: Write, path: str) -> None:
    with pytest.raises(DeclaredUnreadable, match=f"has no {path}"):
        read(write(**{"a.yaml": a_config("a")}), path=path)


def test_folder_in_a_repository_has_its_commit(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a")})
    commit = committed(folder)
    assert read(folder).revision == commit
    write(**{"a.yaml": a_config("edited")})
    assert read(folder).revision == f"{commit}-dirty"
    assert names(read(folder)) == ["edited"]


REVISIONS = ["main", "first", "commit", "abbreviated"]


@pytest.mark.parametrize(
    ("revision", "remote"),
    # A remote repository is asked for names, not for ancestors.
    [(each, remote) for each in REVISIONS for remote in (False, True)] + [("HEAD~1", False)],
)
def test_repository_is_read_at_a_revision(write: Write, revision: str, *, remote: bool) -> None:
    folder = write(**{"apps/a.yaml": a_config("first")})
    first = committed(folder)
    git(folder, "tag", "first")
    write(**{"apps/a.yaml": a_config("second")})
    second = committed(folder)
    write(**{"apps/a.yaml": a_config("not committed")})
    named = {"commit": first, "abbreviated": first[:8]}.get(revision, revision)

    found = read(f"file://{folder}" if remote else folder, named, "apps")

    assert names(found) == (["second"] if revision == "main" else ["first"])
    assert found.revision == (second if revision == "main" else first)
    assert (folder / "apps/a.yaml").read_text() == a_config("not committed")


def test_remote_repository_is_read_at_its_default_branch(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a")})
    commit = committed(folder)
    assert read(f"file://{folder}").revision == commit


@pytest.mark.parametrize("target", ["/etc/hostname", "/etc", "nowhere", "../outside"])
def test_link_out_of_the_repository_is_skipped_and_reported(write: Write, target: str) -> None:
    folder = write(**{"a.yaml": a_config("a")})
    (folder / "b.yaml").symlink_to(target)
    committed(folder)
    found = read(folder, "main")
    assert names(found) == ["a"]
    assert [each.what for each in found.incomplete] == ["b.yaml"]


def test_link_inside_of_the_repository_is_followed(write: Write) -> None:
    folder = write(**{"a.yaml": a_config("a"), "apps/README.md": ""})
    (folder / "apps/b.yaml").symlink_to("../a.yaml")
    committed(folder)
    found = read(folder, "main", "apps")
    assert (names(found), found.incomplete) == (["a"], ())


@pytest.mark.parametrize("remote", [False, True])
def test_file_with_export_ignore_is_declared(write: Write, *, remote: bool) -> None:
    files = {"a.yaml": a_config("a"), "x/b.yaml": a_config("b")}
    folder = write(**files, **{".gitattributes": "x/ export-ignore\n"})
    committed(folder)
    assert names(read(f"file://{folder}" if remote else folder, "main")) == ["a", "b"]


def test_filters_of_a_repository_are_not_run(write: Write, tmp_path: Path) -> None:
    folder = write(
        **{"a.yaml": a_config("a"), ".gitattributes": "*.yaml filter=trap ident eol=crlf"}
    )
    committed(folder)
    git(folder, "config", "filter.trap.smudge", f"touch {tmp_path}/ran; cat")
    assert names(read(folder, "main")) == ["a"]
    assert not (tmp_path / "ran").exists()


class TestSubmodules:
    """Their files are somewhere else: what is missing is not undeclared."""

    @pytest.fixture
    def folder(self, write: Write, tmp_path: Path) -> Path:
        other = tmp_path / "other"
        other.mkdir()
        (other / "b.yaml").write_text(a_config("b"))
        committed(other)
        folder = write(**{"a.yaml": a_config("a"), "apps/c.yaml": a_config("c")})
        committed(folder)
        local = ("-c", "protocol.file.allow=always")
        git(folder, *local, "submodule", "--quiet", "add", str(other), "vendor")
        git(folder, "commit", "--quiet", "-m", "submodule")
        return folder

    def test_submodule_that_is_not_read_is_reported(self, folder: Path) -> None:
        found = read(folder, "main")
        assert names(found) == ["a", "c"]
        [incomplete] = found.incomplete
        assert (incomplete.what, "submodule" in incomplete.why) == ("vendor", True)

    def test_checked_out_submodule_is_read(self, folder: Path) -> None:
        found = read(folder)
        assert (names(found), found.incomplete) == (["a", "c", "b"], ())

    def test_submodule_that_is_not_checked_out_is_reported(self, folder: Path) -> None:
        git(folder, "submodule", "--quiet", "deinit", "--force", "vendor")
        assert [each.what for each in read(folder).incomplete] == ["vendor"]

    def test_submodule_outside_of_the_path_is_ignored(self, folder: Path) -> None:
        assert read(folder, "main", "apps").incomplete == ()


def test_link_to_a_folder_elsewhere_is_reported(write: Write, tmp_path: Path) -> None:
    folder = write(**{"a.yaml": a_config("a"), "apps/b.yaml": a_config("b")})
    (tmp_path / "real").mkdir()
    (tmp_path / "real/c.yaml").write_text(a_config("c"))
    (folder / "apps/link").symlink_to(tmp_path / "real")
    (folder / "again").symlink_to(folder / "apps")  # which is read where it stands
    found = read(folder)
    assert names(found) == ["a", "b"]
    assert [each.what for each in found.incomplete] == ["apps/link"]


@pytest.mark.parametrize(
    ("place", "revision", "says"),
    [
        ("nowhere", "main", "not a folder"),
        ("nowhere", "", "no such folder"),
        ("file:///nowhere/at/all", "main", "git failed"),
        (".", "no-such-branch", "no revision"),
        (".", "--output=/tmp/x", "no revision"),
    ],
)
def test_invalid_repository_or_revision_is_reported(
    write: Write, monkeypatch: pytest.MonkeyPatch, place: str, revision: str, says: str
) -> None:
    folder = write(**{"a.yaml": a_config("a")})
    committed(folder)
    monkeypatch.chdir(folder)
    with pytest.raises(DeclaredUnreadable, match=says):
        read(place, revision)


@pytest.mark.parametrize(
    ("text", "place", "revision"),
    [
        ("deploy", "deploy", ""),
        ("deploy@v1", "deploy", "v1"),
        ("deploy@feature/x", "deploy", "feature/x"),
        ("https://git.example.com/shop", "https://git.example.com/shop", ""),
        ("https://git.example.com/shop@v1", "https://git.example.com/shop", "v1"),
        ("https://me@git.example.com/shop", "https://me@git.example.com/shop", ""),
        ("https://me@git.example.com/shop@v1", "https://me@git.example.com/shop", "v1"),
        ("git@git.example.com:shop", "git@git.example.com:shop", ""),
        ("git@git.example.com:shop@main", "git@git.example.com:shop", "main"),
    ],
)
def test_address_has_a_location_and_a_revision(text: str, place: str, revision: str) -> None:
    assert parse_address(text) == Address(place, revision)


def test_folder_name_can_contain_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "shop@home"
    folder.mkdir()
    assert parse_address(str(folder)) == Address(str(folder), "")


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("kustomization.yaml", "neither kustomize nor kubectl is installed"),
        ("Chart.yaml", "helm is not installed"),
    ],
)
def test_missing_program_is_reported_by_name(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, says: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ProgramMissing, match=says):
        read(write(**{file: ""}))


def test_overlay_that_cannot_be_built_does_not_affect_others(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = write(**{"a.yaml": a_config("a"), "overlay/kustomization.yaml": ""})
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    found = read(folder)
    assert names(found) == ["a"]
    assert found.incomplete == (
        Incomplete(
            "overlay",
            "neither kustomize nor kubectl is installed; one of them builds overlays",
        ),
    )
