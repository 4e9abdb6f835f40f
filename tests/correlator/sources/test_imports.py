"""`sources`: what other programs print, read back into findings."""

import json
import textwrap

import pytest

from correlator.finding import Result, result_as_json
from correlator.sources.json_lines import read_json_lines
from correlator.sources.kubectl_diff import read_diff
from tests.correlator.classify.test_rules import a_finding

FILE = "apps.v1.Deployment.prod.web"
HEADER = f"diff -u -N /tmp/LIVE-1/{FILE} /tmp/MERGED-2/{FILE}"
WHOLE = f"""\
{HEADER}
--- /tmp/LIVE-1/{FILE}\t2026-03-01
+++ /tmp/MERGED-2/{FILE}\t2026-03-01
@@ -1,8 +1,8 @@
 apiVersion: apps/v1
 kind: Deployment
 metadata:
-  generation: 2
+  generation: 3
   name: web
   namespace: prod
 spec:
-  replicas: 5
+  replicas: 3
"""
PART = f"""\
{HEADER}
@@ -3,2 +3,2 @@
 metadata:
-  generation: 2
+  generation: 3
@@ -20,2 +20,2 @@
   strategy:
-  replicas: 5
+  replicas: 3
"""
CREATED = """\
diff -u -N /tmp/LIVE-1/v1.ConfigMap.prod.a.b /tmp/MERGED-2/v1.ConfigMap.prod.a.b
@@ -0,0 +1,6 @@
+apiVersion: v1
+kind: ConfigMap
+metadata:
+  name: a.b
+  namespace: prod
+data: {}
"""
ARGOCD = """\

===== apps/Deployment prod/web ======
12c12
<   replicas: 5
---
>   replicas: 3
"""


def told(result: Result) -> list[tuple[str, str, object, object]]:
    return [
        (each["object"]["name"], each["field"], each["declared"], each["live"])
        for each in result_as_json(result)["findings"]
    ]


def test_diff_of_a_whole_object_gives_its_fields() -> None:
    assert told(read_diff(WHOLE, "kubectl diff")) == [("web", "/spec/replicas", 3, 5)]


def test_diff_of_a_part_gives_its_lines() -> None:
    [(name, field, declared, live)] = told(read_diff(PART, "kubectl diff"))
    assert (name, field) == ("web", "/")
    assert "  replicas: 3" in str(declared)
    assert "  replicas: 5" in str(live)


def test_an_object_that_would_be_created_is_missing() -> None:
    [finding] = read_diff(CREATED, "kubectl diff").findings
    assert finding.is_missing_object
    assert (finding.ref.kind, finding.ref.name, finding.ref.namespace) == (
        "ConfigMap",
        "a.b",
        "prod",
    )


def test_format_of_argocd_app_diff_is_read() -> None:
    assert told(read_diff(ARGOCD, "argocd app diff")) == [
        ("web", "/", "  replicas: 3", "  replicas: 5")
    ]


def test_diff_of_several_objects_gives_each_object() -> None:
    assert [each[0] for each in told(read_diff(WHOLE + CREATED, "kubectl diff"))] == ["web", "a.b"]


def test_empty_output_is_no_difference() -> None:
    assert read_diff("", "kubectl diff") == Result()


@pytest.mark.parametrize("text", ["hello\nworld\n", "error: no such file\n", "{}", "\x00"])
def test_text_that_is_no_diff_is_incomplete(text: str) -> None:
    result = read_diff(text, "kubectl diff")
    assert result.findings == ()
    assert result.incomplete[0].what == "kubectl diff"


UNREAD = [
    pytest.param(f"{HEADER}\n", id="nothing below it"),
    pytest.param(f"{HEADER}\nBinary files /tmp/LIVE-1/a and /tmp/MERGED-2/a differ\n", id="binary"),
    pytest.param("\n".join(WHOLE.splitlines()[:8]), id="cut off"),
    pytest.param("\n".join(ARGOCD.splitlines()[:3]), id="Argo CD's, cut off"),
    pytest.param("===== apps/Deployment prod/web ======\n", id="Argo CD's, nothing below it"),
    pytest.param(
        f'{WHOLE}Error from server (Forbidden): "x" is forbidden\n', id="an error after it"
    ),
]


@pytest.mark.parametrize("text", UNREAD)
def test_partly_unreadable_object_is_incomplete(text: str) -> None:
    [incomplete] = read_diff(text, "kubectl-diff").incomplete
    assert incomplete.what == "Deployment prod/web"
    assert "kubectl-diff" in incomplete.why


def test_readable_part_of_a_truncated_object_is_a_finding() -> None:
    [finding] = read_diff("\n".join(WHOLE.splitlines()[:9]), "kubectl-diff").findings
    assert (str(finding.field), finding.live) == ("/", "  generation: 2")


def test_object_with_only_noise_is_no_finding() -> None:
    lines = [line for line in WHOLE.splitlines() if "replicas" not in line]
    text = "\n".join(lines).replace("1,8 +1,8", "1,7 +1,7")
    assert read_diff(text, "kubectl-diff") == Result()


def test_json_of_drift_is_read_back() -> None:
    [finding] = result_as_json(Result((a_finding(),)))["findings"]
    result = read_json_lines(json.dumps(finding) + "\n\n", "import")
    assert told(result) == told(Result((a_finding(),)))
    assert result.findings[0].since == a_finding().since


def test_malformed_line_is_incomplete_and_hides_no_other_finding() -> None:
    good = '{"object": {"apiVersion": "v1", "kind": "A", "name": "a"}, "field": "/x", "live": 1}'
    text = textwrap.dedent(
        f"""\
        {good}
        not json
        {{"object": {{}}, "field": "/x"}}
        {good.replace("/x", "x")}
        """
    )
    result = read_json_lines(text, "import")
    assert told(result) == [("a", "/x", None, 1)]
    assert [each.what for each in result.incomplete] == [f"import, line {n}" for n in (2, 3, 4)]
