"""PostgreSQL is real, ours alone, and leaves nothing behind."""

import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.cache import PackageOutOfReach
from tests.postgres_server import find_programs, packaged_programs, postgres_server

pytestmark = pytest.mark.postgres


def test_server_answers_queries(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        [version] = connection.execute("select version()").fetchone() or [""]
    assert version.startswith("PostgreSQL")


def test_server_listens_on_a_unix_socket_only(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        [addresses] = connection.execute("show listen_addresses").fetchone() or ["?"]
    assert addresses == ""


def test_two_servers_share_no_data() -> None:
    with postgres_server() as one, postgres_server() as other:
        assert one != other
        with psycopg.connect(one) as connection:
            connection.execute("create table only_there (id int)")
        with psycopg.connect(other) as connection:
            found = connection.execute("select to_regclass('only_there')").fetchone()
        assert found == (None,)


def test_packaged_programs_serve_without_an_installed_server() -> None:
    try:
        programs = packaged_programs()
    except PackageOutOfReach as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"NOT TESTED: {error}")
    with postgres_server(programs) as url, psycopg.connect(url) as connection:
        assert connection.info.server_version >= 150_000


def test_stopped_server_leaves_no_files_and_no_process() -> None:
    with postgres_server(find_programs()) as url:
        [folder] = parse_qs(urlsplit(url).query)["host"]
        pid = int((Path(folder) / "data" / "postmaster.pid").read_text().splitlines()[0])
        # An open connection does not keep the server up.
        connection = psycopg.connect(url)
    connection.close()
    assert not Path(folder).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
