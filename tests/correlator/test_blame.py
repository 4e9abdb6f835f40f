"""Each line of a live object has a name, a time and a ticket, as far as the evidence reaches."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from correlator.attribution.context import Knowledge, Witness
from correlator.audit.log import AuditLog
from correlator.blame import Evidence, History, declaration_of, lines_of, render, render_scalar
from correlator.declared.manifests import Declared, Manifests
from glasswarden.kube.managed_fields import entries_of
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import parse_path
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.audit.recorded import POLICY, events, live

IMAGE = "/spec/template/spec/containers[name=app]/image"


def a_deployment() -> Object:
    container = {"name": "app", "image": "web:2", "args": ["-v", "--x=1"]}
    owned: dict[str, Any] = {'k:{"name":"app"}': {".": {}, "f:image": {}}}
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": owned}}}}
    entry = {
        "manager": "kubectl-set",
        "operation": "Update",
        "time": at(5).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsV1": fields,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, "managedFields": [entry]},
        "spec": {
            "replicas": 8,
            "template": {"spec": {"containers": [container], "volumes": [], "nodeSelector": {}}},
        },
    }


def blamed(*attempts: Any) -> list[tuple[str, str, bool]]:  # noqa: ANN401
    obj = a_deployment()
    entries = entries_of(obj)
    visible = {key: value for key, value in obj.items() if key != "metadata"}
    history = History("test", ref_of(obj), entries, attempts)
    lines = lines_of(visible, entries, lambda _path, value: value)
    attributed = [
        (line, history.attribute(line.path, line.value) if line.sets else None) for line in lines
    ]
    return list(render(attributed))


def test_lines_render_the_whole_object() -> None:
    text = "\n".join(line for _, line, _ in blamed())
    visible = {key: value for key, value in a_deployment().items() if key != "metadata"}
    assert yaml.safe_load(text) == visible


def test_list_items_are_matched_by_their_merge_keys() -> None:
    obj = a_deployment()
    paths = [str(line.path) for line in lines_of(obj, (), lambda _path, value: value) if line.sets]
    assert IMAGE in paths


def test_line_is_attributed_to_the_actor_of_its_record() -> None:
    write = wrote(5, IMAGE, old="web:1", new="web:2", manager="kubectl-set", ticket="INC-42")
    [(margin, _, proven)] = [each for each in blamed(write) if "image:" in each[1]]
    assert margin.split() == ["responder", "2026-03-01", "12:05", "INC-42"]
    assert proven


def test_reason_is_printed_without_control_characters() -> None:
    evil = {"ticket": "INC\x1b[2J", "reason": "checkout \x1b[31mis down"}
    write = wrote(5, IMAGE, old="web:1", new="web:2", manager="kubectl-set", **evil)
    [(margin, _, _)] = [each for each in blamed(write) if "image:" in each[1]]
    assert margin.endswith(r"INC\x1b[2J: checkout \x1b[31mis down")
    assert margin.isprintable()


def test_name_of_a_service_account_is_not_shortened() -> None:
    account = "system:serviceaccount:flux-system:kustomize-controller"
    write = wrote(5, IMAGE, old="web:1", new="web:2", manager="kubectl-set", actor=account)
    [(margin, _, _)] = [each for each in blamed(write) if "image:" in each[1]]
    assert margin.startswith(f"{account}  2026")
    write = wrote(5, IMAGE, new="web:2", manager="kubectl-set", actor=f"a{'b' * 90}z")
    [(margin, _, _)] = [each for each in blamed(write) if "image:" in each[1]]
    assert margin.startswith("ab")
    assert "bz  2026" in margin


def test_declared_line_has_the_revision_of_git() -> None:
    obj = a_deployment()
    declared = {**obj, "spec": {**obj["spec"], "replicas": 5}}
    manifests = Manifests((Declared(declared, "web.yaml:1"),), revision="c0ffee" * 6 + "c0ff-dirty")
    found = declaration_of(ref_of(obj), manifests)
    assert found is not None
    assert str(found) == "c0ffeec0ffee-dirty web.yaml:1"
    assert found.declares(parse_path(IMAGE), "web:2")
    assert not found.declares(parse_path("/spec/replicas"), 8)
    assert not found.declares(parse_path("/spec/paused"), False)
    assert declaration_of(replace(ref_of(obj), name="other"), manifests) is None
    line, other, *_ = lines_of(obj, (), lambda _path, value: value)
    rendered = list(render([(line, None), (other, None)], [str(found), ""]))
    assert [margin.strip() for margin, _, _ in rendered] == [str(found), ""]


def test_line_attributed_by_managed_fields_is_marked_as_a_hint() -> None:
    [(margin, _, proven)] = [each for each in blamed() if "image:" in each[1]]
    assert margin.split() == ["[kubectl-set]", "2026-03-01", "12:05"]
    assert not proven


def test_line_without_a_known_writer_is_empty() -> None:
    [(margin, _, _)] = [each for each in blamed() if "replicas:" in each[1]]
    assert margin.strip() == ""


def test_attribution_has_its_evidence() -> None:
    obj = a_deployment()
    history = History("test", ref_of(obj), entries_of(obj), ())
    path = next(line.path for line in lines_of(obj, (), lambda _p, v: v) if str(line.path) == IMAGE)
    assert history.attribute(path, "web:2").source is Evidence.MANAGED_FIELDS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", "web"),
        ("true", "'true'"),
        ("", "''"),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        ([], "[]"),
        ({}, "{}"),
        ("two\nlines", '"two\\nlines"'),
        ("\x1b[31m", '"\\u001b[31m"'),
    ],
)
def test_value_is_rendered_on_one_line_without_control_characters(value: object, text: str) -> None:
    assert render_scalar(value) == text
    assert yaml.safe_load(text) == value


class TestAuditLog:
    def test_line_without_a_record_is_attributed_by_the_audit_log(self) -> None:
        obj = live("Deployment", "web")
        log = AuditLog(POLICY)
        for event in events():
            log.take(event)
        history = History("test", ref_of(obj), entries_of(obj), (), knowledge=log.knowledge)
        image = history.attribute(parse_path(IMAGE), "registry.example/web:4")
        assert (image.who, image.source) == ("developer", Evidence.AUDIT)
        selector = history.attribute(parse_path("/spec/paused"), True)
        assert selector.source is Evidence.NOTHING

    def test_impersonator_is_named_before_the_impersonated_user(self) -> None:
        write = wrote(5, IMAGE, new="web:2", manager="kubectl-set")
        witness = Witness("outsider", stored=True)
        obj = a_deployment()
        history = History(
            "test",
            ref_of(obj),
            entries_of(obj),
            (write,),
            knowledge=Knowledge(witnesses={write.id: witness}),
        )
        assert history.attribute(parse_path(IMAGE), "web:2").who == "outsider as responder"
