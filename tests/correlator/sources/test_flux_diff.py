"""The output of `flux diff kustomization`, read back. The text is the real program's (2.9.5)."""

from typing import Any

import pytest

from correlator.finding import HIDDEN, UNKNOWN
from correlator.sources.flux_diff import parse_dotted, read_flux_diff
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.kube.schema import find_builtin_kind, shape_of

PRINTED = """\
► ConfigMap/shop/settings drifted

data
+ one map entry added:
  gone: x

data.multi
± value change in multiline text (one insert, one deletion)
- TWO
+ two


► ConfigMap/shop/extra created
► Secret/shop/db drifted

data.password
± value change
- *** (before)
+ *** (after)

► Deployment/shop/web drifted

metadata.generation
± value change
- 4
+ 5

spec.replicas
± value change
- 4
+ 1

spec.template.spec.containers.web.image
± value change
- registry.example/web:by-hand
+ registry.example/web:1

"""
WEB = Ref("apps", "v1", "Deployment", "shop", "web")


def told(text: str) -> list[tuple[str, str, Any, Any]]:
    result = read_flux_diff(text, "flux-diff")
    assert result.incomplete == ()
    return [
        (
            str(each.ref),
            str(each.field),
            None if each.declared is ABSENT else each.declared,
            None if each.live is ABSENT else each.live,
        )
        for each in result.findings
    ]


def test_each_printed_field_is_a_finding() -> None:
    assert told(PRINTED) == [
        ("ConfigMap shop/settings", "/data/gone", "x", None),
        ("ConfigMap shop/settings", "/data/multi", "… two", "… TWO"),
        ("ConfigMap shop/extra", "/", UNKNOWN, None),
        ("Secret shop/db", "/data/password", HIDDEN, HIDDEN),
        ("Deployment shop/web", "/spec/replicas", 1, 4),
        (
            "Deployment shop/web",
            "/spec/template/spec/containers[name=web]/image",
            "registry.example/web:1",
            "registry.example/web:by-hand",
        ),
    ]
    assert read_flux_diff(PRINTED, "flux-diff").findings[-1].ref == WEB


def test_colours_are_ignored() -> None:
    coloured = "\x1b[38;2;1;2;3m► Deployment/shop/web drifted\x1b[0m\n\nspec.paused\n"
    assert told(f"{coloured}\x1b[1m± value change\x1b[0m\n- true\n+ false\n") == [
        ("Deployment shop/web", "/spec/paused", False, True)
    ]


def test_removed_entries_without_an_indent_are_read() -> None:
    text = "► ConfigMap/shop/a drifted\n\ndata\n- two map entries removed:\nb: x\nc: |\n  y\n\n"
    assert told(text) == [
        ("ConfigMap shop/a", "/data/b", None, "x"),
        ("ConfigMap shop/a", "/data/c", None, "y\n"),
    ]


def test_list_items_are_named_by_their_keys() -> None:
    text = (
        "► Deployment/shop/web drifted\n\nspec.template.spec.containers.web.env\n"
        "+ one list entry added:\n  - name: LEVEL\n    value: info\n\n"
    )
    [(_, field, declared, live)] = told(text)
    assert field == "/spec/template/spec/containers[name=web]/env[name=LEVEL]"
    assert (declared, live) == ({"name": "LEVEL", "value": "info"}, None)


def test_object_to_be_deleted_is_an_orphan() -> None:
    [finding] = read_flux_diff("► Namespace/old deleted\n", "flux-diff").findings
    assert finding.is_orphan
    assert (finding.ref.name, finding.ref.namespace) == ("old", "")


def test_object_that_flux_skips_is_incomplete() -> None:
    result = read_flux_diff("► Deployment/shop/web skipped\n", "flux-diff")
    assert result.findings == ()
    assert [each.what for each in result.incomplete] == ["Deployment shop/web"]


@pytest.mark.parametrize(
    "text",
    [
        "► ConfigMap/shop/settings drifted\n\na form that is not known\n",
        "► ConfigMap/shop/settings drifted\n",
        "► ConfigMap/shop/settings configured\n",
    ],
)
def test_object_without_readable_fields_is_incomplete(text: str) -> None:
    result = read_flux_diff(text, "flux-diff")
    assert result.findings == ()
    assert [each.what for each in result.incomplete] == ["ConfigMap shop/settings"]


def test_error_of_flux_is_incomplete() -> None:
    result = read_flux_diff(f"{PRINTED}✗ failed to build: boom\n► what is this\n", "flux-diff")
    assert len(result.findings) == len(told(PRINTED))
    assert [each.why for each in result.incomplete] == [
        "Flux failed: failed to build: boom",
        "it tells of an object in unknown words",
    ]


def test_difference_at_the_root_of_an_object_is_read() -> None:
    text = (
        "► ConfigMap/shop/a drifted\n\n(root level)\n+ one map entry added:\n  data:\n    b: c\n\n"
    )
    assert told(text) == [("ConfigMap shop/a", "/data", {"b": "c"}, None)]


def test_text_that_is_no_diff_is_incomplete() -> None:
    result = read_flux_diff("✗ kustomization not found\n", "flux-diff")
    assert result.incomplete[0].why == "this is not the output of `flux diff`"
    assert read_flux_diff("", "flux-diff").incomplete == ()


@pytest.mark.parametrize(
    ("dotted", "path"),
    [
        ("metadata.labels.example.com/team", "/metadata/labels/example.com~1team"),
        ("data.application.properties", "/data/application.properties"),
        (
            "spec.template.spec.containers.web.resources.limits.nvidia.com/gpu",
            "/spec/template/spec/containers[name=web]/resources/limits/nvidia.com~1gpu",
        ),
        (
            "spec.template.spec.containers.web.env.A.B_C.value",
            "/spec/template/spec/containers[name=web]/env[name=A.B_C]/value",
        ),
        ("spec.template.spec.containers.web.args.0", (
            "/spec/template/spec/containers[name=web]/args[0]"
        )),
        ("(root level)", "/"),
    ],
)  # fmt: skip
def test_dotted_path_is_parsed_by_the_shape_of_the_object(dotted: str, path: str) -> None:
    assert str(parse_dotted(dotted, shape_of(WEB))[0]) == path


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("Deployment", ("apps", "v1")),
        ("HorizontalPodAutoscaler", ("autoscaling", "v2")),
        ("Event", None),
        ("Widget", None),
    ],
)
def test_builtin_kind_is_found_by_its_name(kind: str, known: tuple[str, str] | None) -> None:
    assert find_builtin_kind(kind) == known
