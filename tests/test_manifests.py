"""What is built and applied fits together; tests/cluster/test_manifests.py applies it."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from correlator.notify.config import parse_notifications
from correlator.service.model import parse_sources
from glasswarden.policy.load import parse_document

ROOT = Path(__file__).parent.parent
MANIFESTS = ROOT / "manifests"
CONTAINERFILE = (ROOT / "Containerfile").read_text()


@pytest.mark.parametrize("policy", sorted(MANIFESTS.glob("**/policy.yaml")), ids=str)
def test_every_policy_file_is_valid(policy: Path) -> None:
    assert parse_document(policy.read_text()).kind == "Policy"


@pytest.mark.parametrize("file", sorted(MANIFESTS.glob("**/rbac*.yaml")), ids=str)
def test_every_rbac_rule_has_a_comment_with_its_reason(file: Path) -> None:
    """Directly above the rule, where whoever changes it sees the reason too."""
    lines = file.read_text().splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("  - apiGroups:")]
    assert rules
    bare = [lines[number] for number in rules if not lines[number - 1].startswith("  #")]
    assert bare == []


def test_image_is_built_from_pinned_versions_and_hashes() -> None:
    images = re.findall(r"^ARG \w+=(\S+)$", CONTAINERFILE, re.MULTILINE)
    versions = [re.findall(r"/(\w+):(\d+\.\d+\.\d+)-", image)[0] for image in images]
    assert sorted({name for name, _ in versions}) == ["golang", "python"]
    assert len(set(versions)) == 2, "two versions of one program"
    assert "--require-hashes" in CONTAINERFILE


def test_image_contains_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    copied = re.findall(r"^COPY (\w+) /opt/glasswarden/app/\1$", CONTAINERFILE, re.MULTILINE)
    assert copied == packages


def test_image_and_pods_run_as_the_same_unprivileged_user() -> None:
    [user] = set(re.findall(r"^USER (\d+):\d+$", CONTAINERFILE, re.MULTILINE))
    for file in ("base/webhook.yaml", "base/certs.yaml", "components/correlator/correlator.yaml"):
        for document in yaml.safe_load_all((MANIFESTS / file).read_text()):
            if document["kind"] in ("Deployment", "StatefulSet"):
                context = document["spec"]["template"]["spec"]["securityContext"]
                assert context["runAsUser"] == int(user)


def test_cert_managers_authority_keeps_its_key() -> None:
    """Its cainjector replaces the old authority: a new key would cut off what is still served."""
    text = (MANIFESTS / "components/cert-manager/certificate.yaml").read_text()
    specs = [each["spec"] for each in yaml.safe_load_all(text) if each["kind"] == "Certificate"]
    [authority] = [each for each in specs if each.get("isCA")]
    assert authority["privateKey"]["rotationPolicy"] == "Never"


def test_correlator_pod_gets_only_the_mask_keys() -> None:
    """Hidden values are compared by them; with the others its pod could sign grants."""
    text = (MANIFESTS / "components/correlator/correlator.yaml").read_text()
    [deployment] = [each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    secrets = {
        each["name"]: each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each
    }
    mounted = {each["mountPath"]: secrets.get(each["name"]) for each in container["volumeMounts"]}
    settings = {each["name"]: each.get("value", "") for each in container["env"]}
    assert mounted[settings["GLASSWARDEN_KEYS"]] == "glasswarden-masks"
    assert "glasswarden-keys" not in mounted.values()


def test_user_of_the_image_has_a_name() -> None:
    """ssh, and so Git over SSH, ends with `No user exists for uid 65532` without one."""
    [user] = set(re.findall(r"^USER (\d+):\d+$", CONTAINERFILE, re.MULTILINE))
    assert re.search(rf"useradd --uid {user} ", CONTAINERFILE)


def correlator_settings(folder: Path) -> dict[str, str]:
    """Return what the correlator's pod is told, with the Secret for Git in *folder*."""
    text = (MANIFESTS / "components/correlator/correlator.yaml").read_text()
    [deployment] = [each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert "/etc/glasswarden/git" in {each["mountPath"] for each in container["volumeMounts"]}
    return {
        each["name"]: each.get("value", "").replace("/etc/glasswarden/git", str(folder))
        for each in container["env"]
    }


def test_git_over_https_uses_the_mounted_credentials(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("https://robot:letmein@git.example\n")
    (tmp_path / "credentials").chmod(0o440)
    asked = subprocess.run(
        ["git", "credential", "fill"],
        input="protocol=https\nhost=git.example\n\n",
        env=os.environ | correlator_settings(tmp_path) | {"GIT_TERMINAL_PROMPT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "username=robot\npassword=letmein" in asked.stdout


@pytest.mark.skipif(shutil.which("ssh") is None, reason="NOT TESTED: ssh is not installed here")
def test_git_over_ssh_uses_the_mounted_key_and_known_hosts(tmp_path: Path) -> None:
    command = shlex.split(correlator_settings(tmp_path)["GIT_SSH_COMMAND"])
    shown = subprocess.run(
        [command[0], "-G", *command[1:], "git.example"], capture_output=True, text=True, check=True
    )
    lines = shown.stdout.lower().splitlines()
    assert f"identityfile {tmp_path}/ssh-privatekey".lower() in lines
    assert f"userknownhostsfile {tmp_path}/known_hosts".lower() in lines
    assert {"stricthostkeychecking true", "batchmode yes", "identitiesonly yes"} <= {*lines}


def test_dockerignore_admits_exactly_what_the_image_copies() -> None:
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(\S+) ", CONTAINERFILE, re.MULTILINE)
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / path).exists() for path in copied)


def test_only_the_correlator_has_programs_that_fetch_and_render() -> None:
    stages = re.split(r"^FROM \S+ AS (\w+)$", CONTAINERFILE, flags=re.MULTILINE)[1:]
    named = dict(zip(stages[::2], stages[1::2], strict=True))
    assert [*named][-1] == "glasswarden", "the last one is built where none is named"
    assert [name for name, text in named.items() if "--from=tools" in text] == ["correlator"]
    assert [name for name, text in named.items() if "git" in text.split()] == ["correlator"]


def test_sources_file_of_the_component_is_valid_and_empty() -> None:
    text = (MANIFESTS / "components/correlator/sources.yaml").read_text()
    assert parse_sources(text) == ()


def test_notifications_file_of_the_component_is_valid_and_has_no_targets() -> None:
    text = (MANIFESTS / "components/correlator/notifications.yaml").read_text()
    document = parse_notifications(text)
    assert (document.targets, document.routes) == ((), ())


def test_every_environment_variable_of_the_pods_is_read_by_a_program() -> None:
    known = set(re.findall(r'envvar="(GLASSWARDEN_\w+)"', sources()))
    known |= {f"GLASSWARDEN_CERTS_{each}" for each in ("LIFETIME", "SETTLE", "OVERLAP")}
    used = {
        name
        for file in MANIFESTS.glob("**/*.yaml")
        for name in re.findall(r"name: (GLASSWARDEN_\w+)", file.read_text())
    }
    assert used <= known


def sources() -> str:
    return "".join(path.read_text() for path in (ROOT / "glasswarden" / "cli").glob("*.py"))
