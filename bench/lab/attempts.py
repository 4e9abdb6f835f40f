"""Records as the webhook makes them of the usual refused update, in any number."""

import random
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from bench.lab.reviews import guarded_update
from glasswarden.keys.ring import Key, Ring
from glasswarden.ledger.chain import Chain, Signer
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, Record, new_id
from glasswarden.policy.case import Case
from glasswarden.policy.decide import decide
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import policy_of
from webhook.recording.entry import entry_of
from webhook.review import parse_review
from webhook.write_builder import write_of

START: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WRITER: Final = "glasswarden-webhook-6c8f9d7b5c-x2x7k-7-9f3a61c2"
"""As long as a pod's name makes it."""

POLICY: Final = "apiVersion: glasswarden.io/v1\nkind: Policy\ncluster: prod-eu\n"


def usual_attempt() -> Attempt:
    """Return what the webhook records of the usual refused update: three fields were changed."""
    policy = policy_of(parse_document(POLICY))
    request = parse_review(guarded_update())
    case = Case(write_of(request, policy), policy, START)
    masks = Masks(Ring([Key("1", bytes(32), START)]))
    return entry_of(request, case, decide(case), masks, bytes(10))


def chained(count: int, writer: str = WRITER) -> list[Record]:
    """Return *count* records of one chain, ten a second, of many objects and people."""
    chance = random.Random(writer)  # noqa: S311 - the same ones in every run
    usual = usual_attempt()
    entries = []
    for number in range(count):
        time = START + number * timedelta(milliseconds=100)
        one = int(2000 * chance.random() ** 2)
        entries.append(
            replace(
                usual,
                id=new_id(time, chance.randbytes(10)),
                time=time,
                namespace=f"team-{one % 100}",
                name=f"service-{one}",
                app=f"app-{one % 400}",
                actor=f"person-{int(500 * chance.random() ** 2)}@example.com",
            )
        )
    return Chain(writer, Signer(Ed25519PrivateKey.from_private_bytes(bytes(32)))).link(entries)
