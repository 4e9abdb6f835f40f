"""A stamp is valid for exactly what it contains, and nobody can forge another one."""

import base64
import json
from datetime import timedelta

import msgspec
import pytest

from glasswarden.keys.ring import Key, NoKey, Ring
from glasswarden.policy.breakglass.tokens import (
    Flaw,
    KeyUnknown,
    SignatureWrong,
    Stamp,
    TokenInvalid,
    TokenMalformed,
    Tokens,
    check_stamp,
    is_fresh,
    issue_stamp,
    read_stamp,
)
from glasswarden.policy.types import Actor, GrantOperation
from tests.policy.breakglass.builders import (
    HOUR,
    KEY,
    OUTSIDER,
    RESPONDER,
    RING,
    SECOND,
    a_stamp,
)
from tests.policy.builders import NOW, WEB

SECOND_OF_TIME = timedelta(seconds=1)


def edited(token: str, **content: object) -> str:
    """Return *token* with other content under the same signature."""
    payload, *rest = token.split(".")
    decoded = json.loads(base64.urlsafe_b64decode(payload)) | content
    encoded = base64.urlsafe_b64encode(json.dumps(decoded).encode()).decode()
    return ".".join([encoded, *rest])


class TestToken:
    def test_issued_stamp_is_read_back(self) -> None:
        stamp = a_stamp(held=("/spec/replicas", "/metadata/labels/a.b~1c"), groups=("responders",))
        token = issue_stamp(stamp, RING, NOW)
        assert read_stamp(token, RING) == stamp
        assert token.isascii()

    @pytest.mark.parametrize(
        "content",
        [
            {"expires": "2030-01-01T00:00:00Z"},
            {"ticket": "INC-1"},
            {"uid": "another"},
            {"actor": "outsider"},
            {"operations": ["delete"]},
            {"version": "42"},
            {"held": ["/spec"]},
            {},
        ],
        ids=str,
    )
    def test_edited_token_is_rejected(self, content: dict[str, object]) -> None:
        with pytest.raises(SignatureWrong):
            read_stamp(edited(issue_stamp(a_stamp(), RING, NOW), **content), RING)

    def test_token_of_an_unknown_key_is_rejected(self) -> None:
        foreign = Ring([Key("20260202T000000Z", b"f" * 32, NOW)])
        with pytest.raises(KeyUnknown):
            read_stamp(issue_stamp(a_stamp(), foreign, NOW), RING)

    def test_token_of_another_key_with_the_same_id_is_rejected(self) -> None:
        foreign = Ring([Key(KEY.id, b"f" * 32, NOW)])
        with pytest.raises(SignatureWrong):
            read_stamp(issue_stamp(a_stamp(), foreign, NOW), RING)

    def test_token_of_a_revoked_key_is_rejected(self) -> None:
        newer = Key("20260301T110000Z", b"n" * 32, NOW - HOUR)
        token = issue_stamp(a_stamp(), RING, NOW)
        assert read_stamp(token, Ring([KEY, newer])) == a_stamp()
        with pytest.raises(KeyUnknown):
            read_stamp(token, Ring([newer]))

    @pytest.mark.parametrize("token", ["", "a.b", "a.b.c.d", "ä.b.c", "..", f"x.{KEY.id}.!", "\0"])
    def test_malformed_token_is_rejected(self, token: str) -> None:
        with pytest.raises(TokenInvalid):
            read_stamp(token, RING)

    def test_token_of_another_purpose_is_rejected(self) -> None:
        other = Tokens("breakglass/request/v1", Stamp).issue(a_stamp(), RING, NOW)
        with pytest.raises(SignatureWrong):
            read_stamp(other, RING)

    def test_signed_content_of_another_type_is_rejected(self) -> None:
        other = Tokens("breakglass/grant/v1", dict).issue({"id": "x"}, RING, NOW)
        with pytest.raises(TokenMalformed):
            read_stamp(other, RING)

    def test_stamp_cannot_be_issued_without_a_key(self) -> None:
        with pytest.raises(NoKey):
            issue_stamp(a_stamp(), Ring(), NOW)


def checked(
    stamp: Stamp,
    actor: Actor = RESPONDER,
    operation: GrantOperation = GrantOperation.UPDATE,
    after: timedelta = timedelta(minutes=5),
) -> Flaw | None:
    return check_stamp(
        stamp, cluster="default", uid=WEB.uid, actor=actor, operation=operation, now=NOW + after
    )


class TestCheck:
    def test_stamp_is_valid_for_its_own_terms(self) -> None:
        assert checked(a_stamp()) is None

    @pytest.mark.parametrize(
        ("differing", "flaw"),
        [
            pytest.param({"cluster": "staging"}, Flaw.OTHER_CLUSTER, id="another cluster"),
            pytest.param({"uid": "another"}, Flaw.OTHER_OBJECT, id="another object"),
            pytest.param({"actor": "lead"}, Flaw.OTHER_PERSON, id="another person"),
            pytest.param({"actor_uid": "older"}, Flaw.OTHER_PERSON, id="a name given anew"),
            pytest.param({"operations": ()}, Flaw.OTHER_OPERATION, id="another operation"),
        ],
    )
    def test_stamp_is_invalid_for_other_terms(
        self, differing: dict[str, object], flaw: Flaw
    ) -> None:
        assert checked(msgspec.structs.replace(a_stamp(), **differing)) is flaw

    def test_stamp_is_invalid_on_an_object_without_uid(self) -> None:
        arguments = {"actor": RESPONDER, "operation": GrantOperation.UPDATE, "now": NOW}
        found = check_stamp(a_stamp(uid=""), cluster="default", uid="", **arguments)  # type: ignore[arg-type]
        assert found is Flaw.OTHER_OBJECT

    def test_stamp_expires_to_the_second(self) -> None:
        assert checked(a_stamp(), after=HOUR - SECOND_OF_TIME) is None
        assert checked(a_stamp(), after=HOUR) is Flaw.EXPIRED
        assert checked(a_stamp(), after=HOUR + SECOND_OF_TIME) is Flaw.EXPIRED

    def test_stamp_is_valid_before_its_start_within_the_clock_tolerance(self) -> None:
        assert checked(a_stamp(), after=timedelta(seconds=-30)) is None
        assert checked(a_stamp(), after=timedelta(seconds=-31)) is Flaw.TOO_EARLY

    def test_stamp_covers_a_deletion_only_if_it_names_it(self) -> None:
        assert checked(a_stamp(), operation=GrantOperation.DELETE) is Flaw.OTHER_OPERATION

    def test_stamp_is_shared_with_a_group_only_if_it_names_it(self) -> None:
        assert checked(a_stamp(), actor=SECOND) is Flaw.OTHER_PERSON
        shared = a_stamp(groups=("responders",))
        assert checked(shared, actor=SECOND) is None
        assert checked(shared, actor=OUTSIDER) is Flaw.OTHER_PERSON


class TestFreshness:
    def test_stamp_is_fresh_for_one_version_of_its_object(self) -> None:
        assert is_fresh(a_stamp(version="41"), "41", trial=False)
        assert not is_fresh(a_stamp(version="41"), "42", trial=False)
        assert not is_fresh(a_stamp(version=""), "", trial=False)

    def test_stamp_of_a_dry_run_is_not_fresh_for_a_real_write(self) -> None:
        assert is_fresh(a_stamp(trial=True), "41", trial=True)
        assert not is_fresh(a_stamp(trial=True), "41", trial=False)
