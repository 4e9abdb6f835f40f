"""Build the programs of `catalogue` from their Go modules, once a machine.

`python -m tests.cluster.build kubernetes`, `… gitops` or `… render` builds what is missing in the
cache; `--list` says what there is, `--plan` what would be built. A program appears in the cache
whole or not at all, and two builds of the same module wait for each other. Programs in
`$KUBEBUILDER_ASSETS` are taken as they are; so is the machine's own promtool, if it is new enough.
"""

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cache import PackageOutOfReach, locked
from tests.cluster.catalogue import BUILD_FLAGS, GROUPS, KUBERNETES, Module, Program
from tests.cluster.processes import tail_of
from tests.cluster.progress import Progress
from tests.cluster.toolchain import environment, find_go, find_packaged

ADVICE: Final = (
    (
        r"no space left on device|disk quota exceeded",
        "The disk is full. Go needs some gigabytes; GOCACHE and GOMODCACHE say where.",
    ),
    (
        r"dial tcp|no such host|timeout|proxyconnect|TLS|40[347] |50\d |x509:|lookup disabled",
        "The Go modules are out of reach. HTTPS_PROXY and GOPROXY say how to get them.",
    ),
    (
        r"signal: killed|cannot allocate memory",
        "Memory ran out: close something and try again.",
    ),
)


class BuildFailed(Exception):
    """A program could not be built; the message gives the log, its end, and what to do."""


def programs(modules: Sequence[Module]) -> dict[str, Path]:
    """Return the programs of *modules* by name, built first if need be."""
    build(modules)
    return {program.name: path_of(module, program) for module, program in _all_of(modules)}


def missing(modules: Sequence[Module]) -> list[Program]:
    """Return the programs of *modules* that would have to be built."""
    return [program for module, program in _all_of(modules) if not _is_there(module, program)]


def path_of(module: Module, program: Program) -> Path:
    """Return where *program* is or will be."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and module in KUBERNETES and (Path(assets) / program.name).is_file():
        return Path(assets) / program.name
    if module.oldest_packaged and (packaged := find_packaged(program.name, module.oldest_packaged)):
        return packaged
    return module.built / program.name


def build(modules: Sequence[Module], *, planned: bool = False) -> None:
    """Build what is missing of *modules*, one program after the other, and show the progress.

    What it takes is announced first, unless it was *planned* and so announced already.
    """
    wanted = missing(modules)
    if not wanted:
        return
    if not planned:
        announce(wanted)
    for module in modules:
        if missing([module]):
            with locked(module.built):
                _build_module(module, wanted)


def announce(wanted: Sequence[Program]) -> None:
    """Say what the builds will cost before they start."""
    print(f"Building {cost_of(wanted)}", file=sys.stderr)


def cost_of(wanted: Sequence[Program]) -> str:
    """Return which programs are built from what, how long that takes, and how often."""
    minutes = max(1, round(sum(program.seconds for program in wanted) / 60))
    names = ", ".join(program.name for program in wanted)
    return (
        f"{names} from their Go modules: about {minutes} min on two cores, and the download. "
        "This happens once on this machine."
    )


def print_plan(modules: Sequence[Module]) -> None:
    """Print what `build` would build of *modules*, and how long it would take."""
    wanted = missing(modules)
    print(f"  First it builds {cost_of(wanted)}" if wanted else "  Nothing has to be built first.")


def _build_module(module: Module, wanted: Sequence[Program]) -> None:
    go = find_go(module.go_version)
    # Somebody else may have built some of it while we waited for the lock.
    for program in missing([module]):
        place = f"[{wanted.index(program) + 1}/{len(wanted)}]"
        title = f"{place} {program.name} ({module.source} {module.version})"
        _build_program(go, module, program, title)


def _build_program(go: Path, module: Module, program: Program, title: str) -> None:
    log = module.built / f"{program.name}.log"
    unfinished = module.built / f".{program.name}.unfinished"
    flags = [*BUILD_FLAGS, "-ldflags", module.ldflags, "-o", str(unfinished)]
    flags += [f"-modfile={_completed(go, module)}"] if module.lacking else []
    command = [str(go), "build", *flags, program.package]
    run_logged(command, module.folder, log, Progress(title, program.seconds))
    if module.manifests:
        _copy_definitions(go, module)
    unfinished.rename(module.built / program.name)


def run_logged(command: Sequence[str], folder: Path, log: Path, progress: Progress) -> None:
    """Run one step of a build with its output in *log*; raise BuildFailed if it fails."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT
        ) as running,
    ):
        try:
            progress.watch(lambda second: _ended(running, second))
        except BaseException:
            running.terminate()
            raise
    if running.returncode != 0:
        progress.end("failed")
        raise BuildFailed(failure_message(progress.title, log))
    progress.end("built")


def _ended(running: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def failure_message(title: str, log: Path) -> str:
    """Return what went wrong with a build, from its log, and what may be done about it."""
    end = tail_of(log)
    advice = next(
        (text for pattern, text in ADVICE if re.search(pattern, end, re.IGNORECASE)),
        "The log says more.",
    )
    return f"{title}: the build failed. {advice}\nThe end of {log}:\n{end}"


def _completed(go: Path, module: Module) -> Path:
    """Return a go.mod by which *module* is built from a copy of its source that lacks nothing.

    Go builds from its own copy only as it was published.
    """
    source = module.built / "source"
    if not source.is_dir():
        with tempfile.TemporaryDirectory(dir=module.built) as unfinished:
            copy = Path(unfinished) / "source"
            _fetch(go, module)
            shutil.copytree(_source_of(go, module), copy)
            for file in (copy, *copy.rglob("*")):
                file.chmod(file.stat().st_mode | stat.S_IWUSR)
            for name in module.lacking:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).touch()
            copy.rename(source)
    replaced = f"\nreplace {module.source} => {source}\n"
    (module.built / "go.mod").write_text((module.folder / "go.mod").read_text() + replaced)
    shutil.copyfile(module.folder / "go.sum", module.built / "go.sum")
    return module.built / "go.mod"


def _fetch(go: Path, module: Module) -> None:
    command = [str(go), "mod", "download", module.source]
    try:
        subprocess.run(command, cwd=module.folder, env=environment(), check=True)
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"the source of {module.source} could not be fetched") from error


def _source_of(go: Path, module: Module) -> Path:
    """Return the folder in which Go keeps the source of *module*."""
    asked = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", module.source],
        cwd=module.folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(asked.stdout.strip())


def _copy_definitions(go: Path, module: Module) -> None:
    """Copy the custom resource definitions beside the program, so that Go is not needed later."""
    with tempfile.TemporaryDirectory(dir=module.built) as unfinished:
        found = _source_of(go, module) / str(module.manifests)
        for file in found.glob("*.yaml"):
            if file.name != "kustomization.yaml":
                shutil.copyfile(file, Path(unfinished) / file.name)
        shutil.rmtree(module.definitions, ignore_errors=True)
        shutil.copytree(unfinished, module.definitions)


def _all_of(modules: Sequence[Module]) -> list[tuple[Module, Program]]:
    return [(module, program) for module in modules for program in module.programs]


def _is_there(module: Module, program: Program) -> bool:
    return path_of(module, program).is_file()


def list_all() -> None:
    """Print each program, its version, and where it is or what it would cost."""
    for name, modules in GROUPS.items():
        for module, program in _all_of(modules):
            state = (
                str(path_of(module, program))
                if _is_there(module, program)
                else f"not built (about {program.seconds} s on two cores)"
            )
            print(f"{name:<11} {program.name:<24} {module.version:<9} {state}")


def _group(name: str) -> tuple[Module, ...]:
    if name not in GROUPS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(GROUPS)}")
    return GROUPS[name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster.build",
        description="Build the programs that the tests run, once a machine, into a cache "
        "($GLASSWARDEN_CACHE, by default ~/.cache/glasswarden).",
    )
    groups = f"{{{','.join(GROUPS)}}}"
    parser.add_argument("groups", nargs="*", metavar=groups, type=_group, help="what to build")
    parser.add_argument("--list", action="store_true", help="say what is built, and where")
    parser.add_argument(
        "--plan", action="store_true", help="say what would be built, and build nothing"
    )
    parser.add_argument("--planned", action="store_true", help="build without the announcement")
    chosen = parser.parse_args(arguments)
    modules = [module for group in chosen.groups for module in group]
    if chosen.plan:
        print_plan(modules)
        return 0
    try:
        build(modules, planned=chosen.planned)
    except (BuildFailed, PackageOutOfReach) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; what was built stays.", file=sys.stderr)
        return 130
    if chosen.list or not chosen.groups:
        list_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
