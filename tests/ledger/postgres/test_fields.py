"""Whatever a question about a field wants, the field's number finds."""

from hypothesis import given
from hypothesis import strategies as st

from glasswarden.ledger.postgres.storage import array_of, key_of, keys_of
from glasswarden.ledger.query import is_within

PATHS = st.text(alphabet='ab/[]="\\', min_size=1, max_size=12)


@given(path=PATHS, field=PATHS)
def test_path_has_the_keys_of_all_its_parents(path: str, field: str) -> None:
    if field.strip("/") and is_within(path, field):
        assert key_of(field) in keys_of((path,))


def test_paths_with_common_parents_share_keys() -> None:
    assert len(keys_of(("/spec/template/spec/containers[name=app]/image", "/spec/replicas"))) == 8


def test_array_is_quoted_as_postgresql_reads_it() -> None:
    assert array_of(("", 'a"b\\c', "{,}")) == r'{"","a\"b\\c","{,}"}'
