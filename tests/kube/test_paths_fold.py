"""A fold gives each path the value that it would have alone, and takes common steps once."""

from glasswarden.kube.paths import ROOT, Fold, Key, Path, parse_path, path_of


def test_each_path_has_the_value_that_its_own_steps_make() -> None:
    fold = Fold("", lambda text, path: f"{text}{path.step}")
    stem = path_of("a", "b")
    paths = [stem / Key("c"), stem, ROOT, stem / Key("c") / Key("d"), parse_path("/a/b/c")]
    assert [fold.at(path) for path in paths] == ["/a/b/c", "/a/b", "", "/a/b/c/d", "/a/b/c"]


def test_what_paths_have_in_common_is_walked_once() -> None:
    steps = 0

    def counted(value: int, _: Path) -> int:
        nonlocal steps
        steps += 1
        return value + 1

    stem, fold = path_of(*["a"] * 500), Fold(0, counted)
    assert all(fold.at(stem / Key(f"c{number}")) == 501 for number in range(100))
    assert steps == 500 + 100


def test_a_path_that_is_gone_lends_its_value_to_no_other() -> None:
    """Values are kept by identity, and Python gives a number out again."""
    fold = Fold("", lambda text, path: f"{text}{path.step}")
    for number in range(1000):
        text = f"/a{number}/b/c"
        assert fold.at(parse_path(text)) == text
