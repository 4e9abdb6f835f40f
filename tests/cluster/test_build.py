"""The build's own logic: names in the cache, versions of Go, and the messages of a failure."""

import sys
from pathlib import Path

import pytest

from tests import cache
from tests.cluster import build, catalogue
from tests.cluster.catalogue import KUBERNETES, PROMTOOL, Module, Program
from tests.cluster.progress import Progress
from tests.cluster.toolchain import find_go, is_at_least, version_of

TOY = Module("toy", "example.org/toy", (Program("toy", "example.org/toy/cmd/toy", 1),))
GO_MOD = "module toy\n\ngo 1.25.5\n\nrequire example.org/toy v1.2.3\n"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Return a module of its own folder, with a cache of its own."""
    monkeypatch.setattr(catalogue, "MODULES", tmp_path)
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    TOY.folder.mkdir()
    (TOY.folder / "go.mod").write_text(GO_MOD)
    (TOY.folder / "go.sum").write_text("")
    return TOY


@pytest.mark.parametrize("file", ["go.mod", "go.sum"])
def test_cache_key_changes_with_the_module_files(toy: Module, file: str) -> None:
    before = toy.built
    with (toy.folder / file).open("a") as opened:
        opened.write("// another line\n")
    assert toy.built != before


def test_cache_key_changes_with_the_build_flags(toy: Module) -> None:
    told_its_version = Module(toy.name, toy.source, toy.programs, versioned=True)
    assert told_its_version.built != toy.built


def test_versions_are_read_from_the_go_module(toy: Module) -> None:
    assert toy.version == "v1.2.3"
    assert toy.go_version == "1.25.5"


@pytest.mark.parametrize("modules", catalogue.GROUPS.values(), ids=catalogue.GROUPS)
def test_every_program_is_a_tool_of_its_module(modules: tuple[Module, ...]) -> None:
    for module in modules:
        text = (module.folder / "go.mod").read_text()
        tools = text[text.index("\ntool ") :]
        assert all(program.package in tools for program in module.programs)
        assert module.version.startswith("v")


def test_cache_folder_follows_the_environment_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "own"))
    assert cache.cache_folder() == tmp_path / "own"
    monkeypatch.delenv("GLASSWARDEN_CACHE")
    assert cache.cache_folder() == tmp_path / "xdg" / "glasswarden"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "glasswarden"


@pytest.mark.parametrize(
    ("version", "needed", "enough"),
    [
        ("go1.26.8", "1.26.0", True),
        ("go1.26", "1.26.0", True),
        ("go1.27rc1", "1.26.5", True),
        ("go1.100.0", "1.26.0", True),
        ("go1.25.9", "1.26.0", False),
        ("go1.9", "1.26.0", False),
        ("", "1.26.0", False),
        ("devel", "1.26.0", False),
    ],
)
def test_versions_of_go_are_compared_as_numbers(version: str, needed: str, enough: bool) -> None:  # noqa: FBT001
    assert is_at_least(version, needed) is enough


def test_installed_go_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "go"
    own.write_text("#!/bin/sh\necho go1.99.0\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version_of(own) == "go1.99.0"
    assert find_go("1.26.0") == own


def test_programs_of_kubebuilder_assets_are_used_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch()
    assert [program.name for program in build.missing(KUBERNETES)] == ["kube-controller-manager"]
    assert build.path_of(KUBERNETES[0], KUBERNETES[0].programs[0]) == tmp_path / "etcd"


@pytest.mark.parametrize(
    ("version", "taken"), [("2.42.0+ds", True), ("3.5.0", True), ("2.31.2", False), ("", False)]
)
def test_a_packaged_program_is_taken_if_it_is_new_enough(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    taken: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    own = tmp_path / "promtool"
    own.write_text(f"#!/bin/sh\necho 'promtool, version {version} (branch: x)'\n")
    own.chmod(0o755)
    assert (build.missing([PROMTOOL]) == []) is taken
    assert (build.path_of(PROMTOOL, PROMTOOL.programs[0]) == own) is taken


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("write /tmp/x: no space left on device", "The disk is full"),
        ("dial tcp: lookup proxy.golang.org: no such host", "out of reach"),
        ("example.org/toy@v1.2.3: reading https://example.org: 404 Not Found", "out of reach"),
        ("module lookup disabled by GOPROXY=off", "out of reach"),
        ("compile: signal: killed", "Memory ran out"),
        ("syntax error", "The log says more"),
    ],
)
def test_build_failure_names_its_log_and_the_remedy(tmp_path: Path, line: str, advice: str) -> None:
    log = tmp_path / "toy.log"
    command = [sys.executable, "-c", f"import sys; print({line!r}); sys.exit(1)"]
    with pytest.raises(build.BuildFailed) as failure:
        build.run_logged(command, tmp_path, log, Progress("toy", 1))
    assert advice in str(failure.value)
    assert str(log) in str(failure.value)
    assert line in str(failure.value)


def test_a_failed_build_leaves_no_program(toy: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    go = toy.folder.parent / "go"
    go.write_text("#!/bin/sh\necho go1.99.0: no required module\n[ $1 = env ]\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(go.parent))
    with pytest.raises(build.BuildFailed, match="no required module"):
        build.programs([toy])
    assert build.missing([toy]) == list(toy.programs)


def test_list_option_prints_the_path_of_each_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    (tmp_path / "kubectl").touch()
    assert build.main(["--list"]) == 0
    lines = {line.split()[1]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["kubectl"].endswith(str(tmp_path / "kubectl"))
    assert "not built" in lines["argocd"]


def test_unknown_group_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build.main(["everything"])
    assert "kubernetes, gitops, render" in capsys.readouterr().err


def test_a_plan_says_what_would_be_built_and_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GLASSWARDEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch()
    assert build.main(["--plan", "kubernetes"]) == 0
    assert "builds kube-controller-manager from their Go modules: about 1 min" in (
        capsys.readouterr().out
    )
    (tmp_path / "kube-controller-manager").touch()
    assert build.main(["--plan", "kubernetes"]) == 0
    assert "Nothing has to be built" in capsys.readouterr().out


def test_a_planned_build_is_not_announced_again(
    toy: Module, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "_build_module", lambda *_: None)
    build.build([toy], planned=True)
    assert capsys.readouterr().err == ""
    build.build([toy])
    assert "Building toy from their Go modules" in capsys.readouterr().err
