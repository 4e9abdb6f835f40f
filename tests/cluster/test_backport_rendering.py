"""Backports into overlays and charts, rendered again by the real kustomize and helm."""

from pathlib import Path

import pytest

from tests.correlator.backport.builders import (
    GONE,
    IMAGE,
    REPLICAS,
    WEB,
    back,
    changed_lines,
    reasons,
    written,
)

pytestmark = pytest.mark.usefixtures("renderers")

BASE = {"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": WEB}
MERGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  # more than the base
  replicas: 5
"""
PROD = "prod/kustomization.yaml"
MODE = "/spec/template/spec/containers[name=web]/env[name=MODE]/value"
CASES = {
    "replicas": (
        {PROD: "resources: [../base]\nreplicas:\n  - name: web\n    count: 5 # two a zone\n"},
        [(REPLICAS, 8)],
        [PROD, "-    count: 5 # two a zone", "+    count: 8 # two a zone"],
    ),
    "images, tag": (
        {PROD: "resources: [../base]\nimages:\n- name: registry.example/web\n  newTag: '4'\n"},
        [(IMAGE, "registry.example/web:5")],
        [PROD, "-  newTag: '4'", "+  newTag: '5'"],
    ),
    "images, from tag to digest": (
        {PROD: "resources: [../base]\nimages:\n- name: registry.example/web\n  newTag: v4\n"},
        [(IMAGE, "mirror.example/web@sha256:" + "ab" * 32)],
        [
            PROD,
            "-  newTag: v4",
            "+  digest: sha256:" + "ab" * 32,
            "+  newName: mirror.example/web",
        ],
    ),
    "a strategic merge patch": (
        {
            PROD: "resources: [../base]\npatches:\n- path: more.yaml\n",
            "prod/more.yaml": MERGE,
        },
        [(REPLICAS, 8)],
        ["prod/more.yaml", "-  replicas: 5", "+  replicas: 8"],
    ),
    "an old-style patch": (
        {
            PROD: "resources: [../base]\npatchesStrategicMerge: [more.yaml]\n",
            "prod/more.yaml": MERGE,
        },
        [(REPLICAS, 8)],
        ["prod/more.yaml", "-  replicas: 5", "+  replicas: 8"],
    ),
    "a patch in line": (
        {
            PROD: "resources: [../base]\npatches:\n  - patch: |-\n"
            + "".join(f"      {line}\n" for line in MERGE.splitlines())
        },
        [(REPLICAS, 8)],
        [PROD, "-        replicas: 5", "+        replicas: 8"],
    ),
    "a JSON 6902 patch": (
        {
            PROD: "resources: [../base]\npatches:\n"
            "- path: ops.yaml\n  target: {kind: Deployment}\n",
            "prod/ops.yaml": "- op: replace\n"
            "  path: /spec/template/spec/containers/0/image\n  value: registry.example/web:3\n",
        },
        [(IMAGE, "registry.example/web:5")],
        ["prod/ops.yaml", "-  value: registry.example/web:3", "+  value: registry.example/web:5"],
    ),
    "a patch that is about the object takes a field that nothing declared": (
        {
            PROD: "resources: [../base]\npatches:\n- path: more.yaml\n",
            "prod/more.yaml": MERGE,
        },
        [("/spec/template/spec/priorityClassName", "high")],
        [
            "prod/more.yaml",
            "+  template:",
            "+    spec:",
            "+      priorityClassName: high",
        ],
    ),
    "a new patch where the overlay has none": (
        {PROD: "# production\nresources:\n- ../base\nnamespace: shop\n"},
        [(MODE, "alert")],
        [
            "prod/deployment-web.patch.yaml",
            "+apiVersion: apps/v1",
            "+kind: Deployment",
            "+metadata:",
            "+  name: web",
            "+spec:",
            "+  template:",
            "+    spec:",
            "+      containers:",
            "+        - name: web",
            "+          env:",
            "+            - name: MODE",
            "+              value: alert",
            PROD,
            "+patches:",
            "+- path: deployment-web.patch.yaml",
        ],
    ),
    "a new patch under the name before the prefix": (
        {PROD: "resources:\n- ../base\nnamePrefix: eu-\n"},
        [(REPLICAS, 4)],
        [
            "prod/deployment-eu-web.patch.yaml",
            "+apiVersion: apps/v1",
            "+kind: Deployment",
            "+metadata:",
            "+  name: web",
            "+spec:",
            "+  replicas: 4",
            PROD,
            "+patches:",
            "+- path: deployment-eu-web.patch.yaml",
        ],
    ),
    "a removed field is null in the patch": (
        {
            PROD: "resources: [../base]\npatches:\n- path: more.yaml\n",
            "prod/more.yaml": MERGE,
        },
        [("/spec/template/spec/containers[name=web]/env", GONE)],
        [
            "prod/more.yaml",
            "+  template:",
            "+    spec:",
            "+      containers:",
            "+      - name: web",
            "+        env: null",
        ],
    ),
    "a removed variable": (
        {
            PROD: "resources: [../base]\npatches:\n- path: more.yaml\n",
            "prod/more.yaml": MERGE,
        },
        [("/spec/template/spec/containers[name=web]/env[name=MODE]", GONE)],
        [
            "prod/more.yaml",
            "+  template:",
            "+    spec:",
            "+      containers:",
            "+      - name: web",
            "+        env:",
            "+        - name: MODE",
            "+          $patch: delete",
        ],
    ),
    "the overlay's own manifest": (
        {PROD: "resources: [web.yaml]\nnamespace: shop\n", "prod/web.yaml": WEB},
        [(REPLICAS, 8), (MODE, "alert")],
        [
            "prod/web.yaml",
            "-  replicas: 3 # as many as zones",
            "+  replicas: 8 # as many as zones",
            "-              value: calm",
            "+              value: alert",
        ],
    ),
    "an overlay in a folder of its own below": (
        {
            PROD: "resources: [web]\n",
            "prod/web/kustomization.yaml": "resources: [web.yaml]\n",
            "prod/web/web.yaml": WEB,
        },
        [(REPLICAS, 8)],
        [
            "prod/web/web.yaml",
            "-  replicas: 3 # as many as zones",
            "+  replicas: 8 # as many as zones",
        ],
    ),
    "a label that the overlay puts on its only object": (
        {PROD: "resources: [../base]\nlabels:\n- pairs: {team: shop}\n"},
        [("/metadata/labels/team", "checkout")],
        [PROD, "-- pairs: {team: shop}", "+- pairs: {team: checkout}"],
    ),
}


@pytest.mark.parametrize(("files", "fields", "expected"), CASES.values(), ids=CASES)
def test_overlay_is_changed_where_it_owns_the_field(
    tmp_path: Path,
    files: dict[str, str],
    fields: list[tuple[str, object]],
    expected: list[str],
) -> None:
    outcome = back(written(tmp_path, BASE | files), "prod", *fields, name=_name(files))
    assert reasons(outcome) == []
    assert changed_lines(outcome) == expected


def _name(files: dict[str, str]) -> str:
    return "eu-web" if "namePrefix" in files[PROD] else "web"


GENERATORS = {
    "literals": (
        "configMapGenerator:\n- name: settings\n  literals:\n  - mode=calm # for now\n  - a=b\n",
        {},
        ["prod/kustomization.yaml", "-  - mode=calm # for now", "+  - mode=alert # for now"],
    ),
    "a file": (
        "configMapGenerator:\n- name: settings\n  files: [mode=mode.txt]\n",
        {"prod/mode.txt": "calm"},
        ["prod/mode.txt", "-calm", "+alert"],
    ),
    "variables": (
        "configMapGenerator:\n- name: settings\n  envs: [settings.env]\n",
        {"prod/settings.env": "# modes\nmode=calm\na=b\n"},
        ["prod/settings.env", "-mode=calm", "+mode=alert"],
    ),
}


@pytest.mark.parametrize(("generator", "files", "expected"), GENERATORS.values(), ids=GENERATORS)
def test_generated_configmap_is_changed_in_its_generator(
    tmp_path: Path, generator: str, files: dict[str, str], expected: list[str]
) -> None:
    """The object is then another one, named by another hash; whoever refers to it follows."""
    reader = WEB.replace(
        "          env:\n",
        "          envFrom: [{configMapRef: {name: settings}}]\n          env:\n",
    )
    kustomization = f"resources: [web.yaml]\n{generator}"
    folder = written(tmp_path, {PROD: kustomization, "prod/web.yaml": reader} | files)
    outcome = back(folder, "prod", ("/data/mode", "alert"), name="settings")
    assert reasons(outcome) == []
    assert [line for line in changed_lines(outcome) if "No newline" not in line] == expected


def test_generator_of_the_base_is_merged_into_by_the_overlay(tmp_path: Path) -> None:
    base = "configMapGenerator:\n- name: settings\n  literals: [mode=calm, a=b]\n"
    files = {"base/kustomization.yaml": base, PROD: "resources:\n- ../base\n"}
    outcome = back(written(tmp_path, files), "prod", ("/data/mode", "alert"), name="settings")
    assert reasons(outcome) == []
    assert changed_lines(outcome)[1:] == [
        "+configMapGenerator:",
        "+- name: settings",
        "+  behavior: merge",
        "+  literals:",
        "+  - mode=alert",
    ]


def test_change_that_would_affect_other_objects_is_reverted(tmp_path: Path) -> None:
    other = WEB.replace("name: web", "name: other").replace("app: web", "app: other")
    files = {
        PROD: "resources: [web.yaml, other.yaml]\n"
        "images: [{name: registry.example/web, newTag: '4'}]\n",
        "prod/web.yaml": WEB,
        "prod/other.yaml": other,
    }
    outcome = back(written(tmp_path, files), "prod", (IMAGE, "registry.example/web:5"))
    assert outcome.tree.changed == {}
    [why] = reasons(outcome)
    assert "kustomization.yaml, images[0]: it would also change other fields" in why


def test_deletion_is_reported_and_backported_only_with_prune(tmp_path: Path) -> None:
    folder = written(tmp_path, BASE | {PROD: "resources:\n- ../base\n"})
    said = back(folder, "prod", ("/", GONE))
    assert reasons(said) == ["the object was deleted by hand; --prune deletes it from Git too"]
    done = back(folder, "prod", ("/", GONE), prune=True)
    assert reasons(done) == []
    assert "+$patch: delete" in changed_lines(done)


def test_deletion_removes_the_file_of_the_overlay(tmp_path: Path) -> None:
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    resources = "resources:\n- web.yaml\n- settings.yaml\n"
    files = {PROD: resources, "prod/web.yaml": WEB, "prod/settings.yaml": settings}
    outcome = back(written(tmp_path, files), "prod", ("/", GONE), name="settings", prune=True)
    assert reasons(outcome) == []
    assert outcome.tree.changed["prod/settings.yaml"][1] is None
    assert "-- settings.yaml" in changed_lines(outcome)


TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicaCount }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
      - name: web
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        env:
        - {name: LEVEL, value: {{ .Values.level | upper | quote }}}
        - {name: PORT, value: {{ .Values.port | quote }}}
        - {name: FIXED, value: "one"}
        resources: {{- toYaml .Values.resources | nindent 10 }}
"""
VALUES = """\
# how many
replicaCount: 3
port: 3
image:
  repository: registry.example/web # ours
  tag: "1"
level: info
nodeSelector: {}
resources:
  limits:
    cpu: 100m
"""
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/values.yaml": VALUES,
    "chart/templates/web.yaml": TEMPLATE,
}
ENV = "/spec/template/spec/containers[name=web]/env[name={}]/value"
LIMITS = "/spec/template/spec/containers[name=web]/resources/limits"
CHART_CASES = {
    "a number": ([(REPLICAS, 8)], ["-replicaCount: 3", "+replicaCount: 8"]),
    "a part of the text": ([(IMAGE, "registry.example/web:2")], ['-  tag: "1"', '+  tag: "2"']),
    "two parts of the text": (
        [(IMAGE, "mirror.example/web:2")],
        [
            "-  repository: registry.example/web # ours",
            '-  tag: "1"',
            "+  repository: mirror.example/web # ours",
            '+  tag: "2"',
        ],
    ),
    "the right one of two alike": ([(ENV.format("PORT"), "4")], ["-port: 3", "+port: 4"]),
    "a map that is passed on": ([(f"{LIMITS}/cpu", "2")], ["-    cpu: 100m", '+    cpu: "2"']),
    "a key of such a map": ([(f"{LIMITS}/memory", "1Gi")], ["+    memory: 1Gi"]),
    "an empty map": (
        [("/spec/template/spec/nodeSelector", {"disk": "fast"})],
        ["-nodeSelector: {}", "+nodeSelector:", "+  disk: fast"],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), CHART_CASES.values(), ids=CHART_CASES)
def test_chart_is_changed_in_the_value_that_renders_the_field(
    tmp_path: Path, fields: list[tuple[str, object]], expected: list[str]
) -> None:
    outcome = back(written(tmp_path, CHART), "chart", *fields)
    assert reasons(outcome) == []
    assert changed_lines(outcome) == ["chart/values.yaml", *expected]


def test_values_of_the_environment_are_changed_and_not_those_of_the_chart(tmp_path: Path) -> None:
    prod = "# production\nimage: {tag: '7'}\n"
    folder = written(tmp_path, CHART | {"env/prod.yaml": prod})
    fields = [(IMAGE, "registry.example/web:8"), (REPLICAS, 5)]
    outcome = back(folder, "chart", *fields, values=("env/prod.yaml",))
    assert reasons(outcome) == []
    assert changed_lines(outcome) == [
        "env/prod.yaml",
        "-image: {tag: '7'}",
        "+image: {tag: '8'}",
        "+replicaCount: 5",
    ]


@pytest.mark.parametrize(
    "field",
    [(ENV.format("FIXED"), "two"), (ENV.format("LEVEL"), "WARN")],
    ids=["written in the template", "changed on the way"],
)
def test_value_that_the_template_computes_is_not_guessed(
    tmp_path: Path, field: tuple[str, object]
) -> None:
    outcome = back(written(tmp_path, CHART), "chart", field)
    assert outcome.tree.changed == {}
    assert len(reasons(outcome)) == 1
