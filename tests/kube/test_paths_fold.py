"""A fold gives each path the value that it would have alone, and takes common steps once."""

from glasswarden.kube.paths import ROOT, Fold, Key, Path, parse_path, path_of


def test_fold_gives_each_path_the_value_of_its_steps() -> None:
    fold = Fold("", lambda text, path: f"{text}{path.step}")
    stem = path_of("a", "b")
    paths = [stem / Key("c"), stem, ROOT, stem / Key("c") / Key("d"), parse_path("/a/b/c")]
    assert [fold.at(path) for path in paths] == ["/a/b/c", "/a/b", "", "/a/b/c/d", "/a/b/c"]


def test_fold_walks_common_steps_once() -> None:
    steps = 0

    def counted(value: int, _: Path) -> int:
        nonlocal steps
        steps += 1
        return value + 1

    stem, fold = path_of(*["a"] * 500), Fold(0, counted)
    assert all(fold.at(stem / Key(f"c{number}")) == 501 for number in range(100))
    assert steps == 500 + 100


def test_fold_does_not_reuse_the_value_of_a_freed_path() -> None:
    """Values are kept by identity, and Python reuses identities."""
    fold = Fold("", lambda text, path: f"{text}{path.step}")
    for number in range(1000):
        text = f"/a{number}/b/c"
        assert fold.at(parse_path(text)) == text
