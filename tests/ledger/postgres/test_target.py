"""The address locates the database; errors about it do not contain its password."""

import sys

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from glasswarden.ledger.errors import AddressInvalid, DriverMissing, LedgerError
from glasswarden.ledger.open import is_postgres, keys_beside, open_ledger
from glasswarden.ledger.postgres.session import parameters_of

SEVERAL = {
    "ports": ("postgresql://u@a:1,b:2/d", "a,b", "1,2"),
    "one port": ("postgresql://u@a,b:2,c/d", "a,b,c", ",2,"),
    "no port": ("postgresql://u@a,b/d", "a,b", ",,"),
    "ipv6": ("postgresql://u@[::1]:5432,[fe80::2]/d", "::1,fe80::2", "5432,"),
    "sockets": ("postgres://u@/d?host=/run/a,/run/b", "/run/a,/run/b", ""),
}


@pytest.mark.parametrize(("address", "hosts", "ports"), SEVERAL.values(), ids=SEVERAL)
def test_address_can_name_several_hosts(address: str, hosts: str, ports: str) -> None:
    parameters = parameters_of(f"{address}{'&' if '?' in address else '?'}target_session_attrs=any")
    assert is_postgres(address)
    assert parameters["host"] == hosts
    assert parameters.get("port", "").rstrip(",") == ports.rstrip(",")
    assert parameters["target_session_attrs"] == "any"


def test_every_wait_has_a_default_limit() -> None:
    parameters = parameters_of("postgresql://u@db/d")
    assert int(parameters["connect_timeout"]) < 10
    assert int(parameters["tcp_user_timeout"]) < 10_000
    assert "-c statement_timeout=5s" in parameters["options"]
    assert "-c lock_timeout=3s" in parameters["options"]


def test_address_can_set_other_limits() -> None:
    told = "connect_timeout=9&options=-c%20statement_timeout%3D1s"
    parameters = parameters_of(f"postgresql://u@db/d?{told}")
    assert parameters["connect_timeout"] == "9"
    # The last one counts.
    assert parameters["options"].endswith(" -c statement_timeout=1s")


def test_libpq_accepts_the_connection_parameters() -> None:
    understood = conninfo_to_dict(make_conninfo(**parameters_of("postgresql://u:s%40crt@a,b/d")))
    assert [understood[name] for name in ("host", "user", "password", "dbname")] == [
        "a,b",
        "u",
        "s@crt",
        "d",
    ]


LEAKY = {
    "at": "postgresql://u:s3cret@w0rd@db/d",
    "slash": "postgresql://u:s3cret/w0rd@db/d",
    "colon in the host": "postgresql://u:x@db:s3cret/d",
    "no such parameter": "postgresql://u:s3cret@db/d?pass=w0rd",
    "brackets": "postgresql://u:s3cret@[db/d",
    "bad escape": "postgresql://u:s3cret%zz@db/d",
    "misspelt": "postgresq://u:s3cret@db/d?password=w0rd",
    "nothing there": "postgresql://u:s3cret@/d?host=/nowhere/s&password=w0rd",
}


@pytest.mark.parametrize("address", LEAKY.values(), ids=LEAKY)
def test_errors_do_not_contain_the_password(address: str) -> None:
    with pytest.raises(LedgerError) as caught:
        open_ledger(address)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert "s3cret" not in str(chain)
        assert "w0rd" not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


def test_postgresql_address_requires_the_keys_option() -> None:
    with pytest.raises(AddressInvalid, match="--keys"):
        keys_beside("postgresql://u@[::1],[::2]/d")


def test_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("glasswarden.ledger.postgres.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DriverMissing, match=r"pip install glasswarden\[postgres\]"):
        open_ledger("postgresql://u@db/d")
