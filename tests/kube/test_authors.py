"""`authors`: to whom each change of a write is attributed."""

import pytest

from glasswarden.kube.diff import Author, Authors
from glasswarden.kube.managed_fields import Entry, entries_of, writers_between
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import parse_path
from tests.kube.builders import an_entry, an_object, managed_by

EARLIER, LATER = "2026-03-01T10:00:00Z", "2026-03-01T10:05:00Z"
KUBECTL = an_entry("kubectl-edit", "/spec/a", time=LATER)
FLUX = an_entry("flux", "/spec/a", "/spec/b", operation="Apply", time=EARLIER)


def authors(before: list[Object], after: list[Object], requested: str = "") -> Authors:
    return Authors(requested, writers_between(entries(before), entries(after)), entries(after))


def entries(raw: list[Object]) -> tuple[Entry, ...]:
    return entries_of(managed_by(an_object(), *raw))


@pytest.mark.parametrize(
    ("known", "path", "author"),
    [
        pytest.param(
            authors([FLUX], [FLUX, KUBECTL]),
            "/spec/a",
            Author("kubectl-edit", "Update"),
            id="the one writer",
        ),
        pytest.param(
            authors([FLUX], [FLUX, KUBECTL]),
            "/spec/x",
            Author("kubectl-edit", "Update"),
            id="the one writer, also of what has no owner afterwards",
        ),
        pytest.param(
            authors([], [KUBECTL, FLUX]),
            "/spec/b",
            Author("flux", "Apply"),
            id="of several, the one who owns the field",
        ),
        pytest.param(
            authors([], [KUBECTL, FLUX]),
            "/spec/a",
            Author("kubectl-edit", "Update"),
            id="of several owners, the latest",
        ),
        pytest.param(
            authors([], [FLUX, KUBECTL]),
            "/spec/x",
            Author("kubectl-edit", "Update"),
            id="of several that do not own it, the latest",
        ),
        pytest.param(
            authors([FLUX], [FLUX]),
            "/spec/b",
            Author("flux", "Apply"),
            id="without a writer, the owner: it wrote twice within a second",
        ),
        pytest.param(
            authors([FLUX], [FLUX]), "/spec/x", Author(), id="without a writer or an owner, none"
        ),
        pytest.param(
            authors([FLUX], [FLUX], requested="kubectl-edit"),
            "/spec/b",
            Author("kubectl-edit", "Update"),
            id="the manager of the request, even without an entry",
        ),
        pytest.param(
            authors([], [FLUX, KUBECTL], requested="flux"),
            "/spec/x",
            Author("flux", "Apply"),
            id="the manager of the request, with the operation of its entry",
        ),
        pytest.param(
            authors([FLUX], [FLUX], requested="flux"),
            "/spec/b",
            Author("flux", "Apply"),
            id="the manager of the request, twice within a second",
        ),
        pytest.param(authors([], []), "/spec/a", Author(), id="nothing to go by"),
    ],
)
def test_change_is_attributed_to_its_author(known: Authors, path: str, author: Author) -> None:
    assert known.at(parse_path(path)) == author
