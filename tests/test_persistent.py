"""A map that never changes is a dict to whoever reads it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmrouter.persistent import IntMap


@given(st.lists(st.tuples(st.integers(0, 2**64), st.integers()), max_size=40))
def test_a_growing_map_is_a_dict_that_stays(items: list[tuple[int, int]]) -> None:
    maps = [IntMap[int]()]
    for key, value in items:
        maps.append(maps[-1].put(key, value))
    for count, grown in enumerate(maps):
        assert dict(grown.items()) == dict(items[:count])
        assert len(grown) == len(dict(items[:count]))
