"""`declared.documents`: manifests as files hold them."""

import textwrap

import pytest

from correlator.declared.manifests import Manifests, parse_documents
from correlator.declared.yaml_values import YamlInvalid, parse_yaml


def names(manifests: Manifests) -> list[tuple[str, str]]:
    return [(each.manifest["metadata"]["name"], each.origin) for each in manifests.objects]


ONE = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: one}
"""


def test_each_document_is_read_as_an_object_with_its_line() -> None:
    text = "# settings\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\n\n"
    text += "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n---\n# nothing\n---\n"
    assert names(parse_documents(text, "app.yaml")) == [
        ("one", "app.yaml:3"),
        ("two", "app.yaml:8"),
    ]


@pytest.mark.parametrize("kind", ["List", "ConfigMapList"])
def test_list_is_read_as_its_items(kind: str) -> None:
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
    text = f"apiVersion: v1\nkind: {kind}\nitems: [{item % 'one'}, {item % 'two'}]\n"
    assert [name for name, _ in names(parse_documents(text, "app.yaml"))] == ["one", "two"]


def test_json_is_read() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}'
    assert names(parse_documents(text, "app.json")) == [("one", "app.json:1")]


BROKEN = [
    pytest.param("a: [1, 2", "app.yaml, line", "not YAML", id="an open bracket"),
    pytest.param("a: b: c", "app.yaml, line 5", "not YAML", id="a second colon"),
    pytest.param("a: *nowhere", "app.yaml, line 5", "alias to nothing", id="a lost alias"),
    pytest.param("a: !!python/name:os.system x", "app.yaml, line 5", "tag", id="a foreign tag"),
    pytest.param("just text", "app.yaml, line 5", "not a map", id="text"),
    pytest.param("kind: ConfigMap", "app.yaml, line 5", "no apiVersion", id="no version"),
    pytest.param("{apiVersion: v1, kind: A}", "app.yaml, line 5", "no metadata.name", id="no name"),
]


@pytest.mark.parametrize(("text", "what", "why"), BROKEN)
def test_broken_document_does_not_affect_others(text: str, what: str, why: str) -> None:
    good = textwrap.dedent(ONE)
    found = parse_documents(f"{good}---\n{text}\n---\n{good}", "app.yaml")
    assert len(found.objects) == 2
    [incomplete] = found.incomplete
    assert incomplete.what.startswith(what)
    assert why in incomplete.why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-31", "2026-01-31"),
        ("12:30", "12:30"),
        ("1e3", 1000.0),
        ("0o17", 15),
        ("0777", 511),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", 1000),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("1.2.3", "1.2.3"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("=", "="),
        ("08", 8.0),
        (".5", 0.5),
        ("v1", "v1"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("9" * 200, float("9" * 200)),
        ("9" * 5000, "9" * 5000),
        ("-" + "9" * 5000, "-" + "9" * 5000),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
        ("1e999", "1e999"),
        ("!!int " + "9" * 5000, "9" * 5000),
    ],
    ids=lambda each: str(each)[:24],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, value: object) -> None:
    found = parse_yaml(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_anchors_and_merge_keys_are_resolved() -> None:
    text = "base: &base {a: 1, b: 2}\nmade: {<<: *base, b: 3}\nsame: *base\nkept: {'<<': 1}"
    assert parse_yaml(text) == {
        "base": {"a": 1, "b": 2},
        "made": {"a": 1, "b": 3},
        "same": {"a": 1, "b": 2},
        "kept": {"<<": 1},
    }


def test_key_can_be_an_alias() -> None:
    assert parse_yaml('a: &x "<<"\n*x : {b: 1}') == {"a": "<<", "<<": {"b": 1}}


def test_very_long_number_in_json_is_read_as_text() -> None:
    [found] = parse_documents(
        '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "x": %s}' % ("9" * 5000),
        "a.json",
    ).objects
    assert found.manifest["x"] == "9" * 5000


def test_list_item_that_is_no_object_does_not_affect_others() -> None:
    good = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
    text = f"apiVersion: v1\nkind: List\nitems:\n- {good % 'a'}\n- {{kind: A}}\n- {good % 'b'}\n"
    found = parse_documents(text, "app.yaml")
    assert [name for name, _ in names(found)] == ["a", "b"]
    assert [each.why for each in found.incomplete] == ["not a Kubernetes object: no apiVersion"]


def test_keys_are_read_as_text() -> None:
    assert parse_yaml("1: a\ntrue: b\n~: c") == {"1": "a", "true": "b", "null": "c"}


def test_document_with_exponential_aliases_is_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    with pytest.raises(YamlInvalid, match="more values"):
        parse_yaml("\n".join(lines))


def test_deeply_nested_document_is_rejected() -> None:
    with pytest.raises(YamlInvalid):
        parse_yaml("[" * 5000 + "]" * 5000)


def test_hook_with_a_generated_name_is_not_compared() -> None:
    hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\n"
    annotated = f"{hook}  annotations: {{argocd.argoproj.io/hook: PreSync}}\n"
    assert parse_documents(annotated, "a.yaml") == Manifests()
    assert "no metadata.name" in parse_documents(hook, "a.yaml").incomplete[0].why


def test_directive_is_not_read_as_a_document() -> None:
    found = parse_documents(f"%YAML 1.1\n---\n{textwrap.dedent(ONE)}", "app.yaml")
    assert (names(found), found.incomplete) == ([("one", "app.yaml:3")], ())
