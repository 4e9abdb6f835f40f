"""Which of the recorded changes are wanted back in Git."""

from typing import Any

from correlator.backport.choose import Selection, chosen_of, namespace_of
from correlator.backport.model import Tree
from correlator.backport.output import commit_message, render_outcome
from correlator.backport.place import Outcome, Placed, Unplaced
from correlator.report.compose import ReportContext, compose_report
from correlator.report.model import Scope
from correlator.still_live import LiveCheck, NotKnown
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import DEFAULT
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.backport.builders import IMAGE, REPLICAS, edit


def live_web(**spec: Any) -> Object:  # noqa: ANN401 - any field
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID},
        "spec": spec,
    }


def chosen(live: Object | None, *attempts: Attempt) -> Selection:
    def lookup(_ref: Ref) -> Object | None:
        return live

    report = compose_report(Scope(), attempts, ReportContext(check_field=LiveCheck(lookup)), at(60))
    return chosen_of(report, lookup, DEFAULT)


def test_change_that_is_still_live_is_chosen_once() -> None:
    first = wrote(1, REPLICAS, old=3, new=8)
    last = wrote(2, REPLICAS, old=8, new=9)
    found = chosen(live_web(replicas=9), first, last)
    [wanted] = found.wanted
    assert (str(wanted.path), wanted.value, wanted.records) == (REPLICAS, 9, (last.id,))
    assert namespace_of(found.wanted) == "shop"


def test_write_that_was_not_stored_does_not_hide_a_stored_one() -> None:
    first = wrote(1, REPLICAS, old=3, new=8)
    found = chosen(live_web(replicas=8), first, wrote(2, REPLICAS, old=8, new=12))
    [wanted] = found.wanted
    assert (wanted.value, wanted.records) == (8, (first.id,))


def test_superseded_or_denied_change_is_not_chosen() -> None:
    denied = wrote(2, REPLICAS, old=8, new=9, verdict="deny")
    found = chosen(live_web(replicas=5), wrote(1, REPLICAS, old=3, new=8), denied)
    assert (found.wanted, found.unplaced, found.gone) == ((), (), 1)


def test_removed_field_is_chosen_for_removal() -> None:
    [wanted] = chosen(live_web(replicas=3), wrote(1, "/spec/paused", old=True)).wanted
    assert wanted.value is ABSENT


def test_secret_is_never_chosen() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID},
        "data": {"token": "c2VjcmV0"},
    }
    attempt = wrote(1, "/data/token", new_masked="k:1", kind="Secret", group="", version="v1")
    found = chosen(secret, attempt)
    assert found.wanted == ()
    assert [each.why for each in found.unplaced] == [
        "its value is secret, and secrets are never written to Git"
    ]


def test_deletion_and_creation_are_distinguished() -> None:
    gone = chosen(None, wrote(1, "/", operation="DELETE", changes=()))
    assert [each.is_deletion for each in gone.wanted] == [True]
    there = chosen(live_web(), wrote(1, "/", operation="CREATE", changes=()))
    assert "created by hand" in there.unplaced[0].why
    back_again = chosen(live_web(), wrote(1, "/", operation="DELETE", changes=()))
    assert (back_again.wanted, back_again.gone) == ((), 1)


def test_object_that_cannot_be_read_is_reported() -> None:
    def unknown(_ref: Ref) -> Object | None:
        raise NotKnown

    attempts = [wrote(1, REPLICAS, new=8), wrote(2, "/", operation="DELETE", changes=(), name="x")]
    report = compose_report(
        Scope(), attempts, ReportContext(check_field=LiveCheck(unknown)), at(60)
    )
    found = chosen_of(report, unknown, DEFAULT)
    assert found.wanted == ()
    assert all("could not be looked up" in each.why for each in found.unplaced)


def test_restart_is_not_chosen() -> None:
    path = "/spec/template/metadata/annotations/{}"
    for name, count in (("kubectl.kubernetes.io/restartedAt", 0), ("team", 1)):
        live = live_web(template={"metadata": {"annotations": {name: "now"}}})
        attempt = wrote(1, path.format(name.replace("/", "~1")), new="now")
        assert len(chosen(live, attempt).wanted) == count


HOSTILE = "INC-1\n\x1b[31mTicket: forged"


def test_commit_message_has_changes_actors_and_records() -> None:
    wanted = edit(live_web(), (REPLICAS, 8), (IMAGE, "web:2"))
    placed = [Placed(each, 3, "web.yaml") for each in wanted]
    assert commit_message(placed) == (
        "Declare 2 fields changed by hand under INC-42\n"
        "\n"
        "Deployment shop/web /spec/replicas: 3 → 8\n"
        "Deployment shop/web /spec/template/spec/containers[name=web]/image: 3 → web:2\n"
        "\n"
        "Ticket: INC-42\n"
        "Changed-by: responder\n"
        "Glasswarden-record: r1\n"
    )


def test_hostile_text_cannot_forge_a_line_of_the_commit_message() -> None:
    [wanted] = edit(live_web(), ("/metadata/annotations/note", HOSTILE))
    placed = Placed(wanted, HOSTILE, "web.yaml")
    lines = commit_message([placed]).splitlines()
    assert [line for line in lines if line.startswith("Ticket:")] == ["Ticket: INC-42"]
    outcome = Outcome(Tree({}), (placed,), (Unplaced(wanted, HOSTILE),))
    assert all(line.isprintable() for line in [*lines, *render_outcome(outcome, 1)])
