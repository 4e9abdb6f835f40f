"""What hypothesis draws from: few names and few values, so that two draws have much in common."""

from typing import Any

from hypothesis import strategies as st

from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Index, Key, Member, Order, Path, Scalar, Select, Step, path_of
from tests.kube.builders import a_custom_object, a_pod, an_entry, managed_by

Json = Any

texts = st.sampled_from(["", "a", "b", "c"])
scalars: st.SearchStrategy[Scalar] = texts | st.sampled_from([None, False, True, 0, 1, 1.5])
names = st.sampled_from(["name", "a", "b", "spec", "list", "set"])


def _nested(children: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    maps = st.dictionaries(names, children, max_size=3)
    return maps | st.lists(children, max_size=3) | st.lists(maps, max_size=3)


jsons: st.SearchStrategy[Json] = st.recursive(scalars, _nested, max_leaves=8)
json_maps: st.SearchStrategy[Object] = st.dictionaries(names, jsons, max_size=3)

items = st.fixed_dictionaries({"name": scalars}, optional={"a": jsons, "b": scalars})
members = st.lists(scalars, max_size=5)


@st.composite
def custom_objects(draw: st.DrawFn) -> Object:
    """Draw a custom resource with lists that only managedFields explain, and with noise."""
    spec = draw(json_maps)
    obj = a_custom_object(
        spec=spec | {"list": draw(st.lists(items, max_size=5)), "set": draw(members)}
    )
    # The API server checks the types of metadata itself.
    obj["metadata"] |= draw(st.dictionaries(st.sampled_from(["uid", "generateName"]), texts))
    obj |= draw(st.dictionaries(st.sampled_from(["status", "data"]), scalars))
    entry = an_entry("m", "/spec/list[name=a]/name", "/spec/set[=a]", api_version="example.com/v1")
    return managed_by(obj, entry) if draw(st.booleans()) else obj


@st.composite
def pods(draw: st.DrawFn) -> Object:
    """Draw a Pod, more or less: associative, atomic and set lists, some with broken keys."""
    env = st.fixed_dictionaries({"name": texts}, optional={"value": texts})
    port = st.fixed_dictionaries({"containerPort": st.integers(1, 3)}, optional={"protocol": texts})
    container = st.fixed_dictionaries(
        {"name": texts},
        optional={
            "args": st.lists(texts, max_size=3),
            "env": st.lists(env, max_size=4),
            "ports": st.lists(port, max_size=3),
            "resources": st.just({"limits": {"cpu": "1"}}),
        },
    )
    pod = a_pod(containers=draw(st.lists(container, max_size=3)))
    pod["metadata"]["finalizers"] = draw(st.lists(texts, max_size=4))
    return pod


any_text = st.text(max_size=8)
any_scalars: st.SearchStrategy[Scalar] = (
    any_text
    | st.sampled_from(["80", "true", "null", "1e3", "-0", "order", "*", "a,b", "[", "]", '"', "="])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Key, any_text),
    st.dictionaries(any_text, any_scalars, min_size=1, max_size=3).map(
        lambda keys: Select(tuple(keys.items()))
    ),
    st.builds(Member, any_scalars),
    st.builds(Index, st.integers(0, 10**9 - 1)),
    st.just(Order()),
)
paths: st.SearchStrategy[Path] = st.lists(steps, max_size=6).map(lambda each: path_of(*each))
