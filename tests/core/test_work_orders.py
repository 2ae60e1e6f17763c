"""Plans become orders: what is wrong with one is found before anything runs, and nothing that is right is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from leadhand.core.ids import subtask_key
from leadhand.core.work_order import Subtask, WorkOrder, references_in, renamed, tie_problems
from leadhand.flows.seam.orders import issue


def order(*needs: list[str]) -> WorkOrder:
    subtasks = tuple(Subtask(name=f"s{number}", needs=tuple(wanted)) for number, wanted in enumerate(needs))
    return WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)


def graphs() -> st.SearchStrategy[list[list[int]]]:
    """Needs of up to seven subtasks, by index; any graph, loops included."""
    return st.integers(1, 7).flatmap(
        lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=3), min_size=count, max_size=count)
    )


def reaches_itself(graph: list[list[int]]) -> bool:
    """Whether a node of a graph can be reached from itself: by trying every walk."""

    def reachable(node: int) -> set[int]:
        found: set[int] = set()
        todo = list(graph[node])
        while todo:
            following = todo.pop()
            if following not in found:
                found.add(following)
                todo += graph[following]
        return found

    return any(node in reachable(node) for node in range(len(graph)))


@settings(max_examples=2 * settings().max_examples)
@given(graphs())
def test_a_circle_of_needs_is_found_if_and_only_if_there_is_one(graph: list[list[int]]):
    made = order(*([subtask_key("wo-001", needed) for needed in needs] for needs in graph))
    found = tie_problems(made, ())

    assert bool(found) == reaches_itself(graph)
    if found:
        circle = found[0].partition(": ")[2].split(" -> ")
        assert circle[0] == circle[-1]
        for key, following in pairwise(circle):
            assert following in made.subtasks[made.subtask_keys.index(key)].needs


@pytest.mark.slow
def test_a_circle_among_thousands_is_found_without_deep_recursion():
    chain = [[subtask_key("wo-001", index + 1)] for index in range(4_999)]

    assert tie_problems(order(*chain, []), ()) == []
    assert "cycle" in tie_problems(order(*chain, [subtask_key("wo-001", 0)]), ())[0]


def test_an_order_cannot_be_changed():
    made = order([])
    with pytest.raises(ValidationError):
        made.goal = "another"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValidationError):
        made.subtasks[0].name = "another"  # pyright: ignore[reportAttributeAccessIssue]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$result", "subtask", "path", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_a_name_that_is_unique_in_the_plan_means_its_subtask():
    refers = {"place": {"$result": {"subtask": "town", "path": "/raw"}}}
    plan = (
        Subtask(name="town"),
        Subtask(name="day", needs=("town",), args=refers),
        Subtask(name="day", needs=("day",)),
        Subtask(name="1", needs=(1,)),
    )
    town, first, second, digit = issue(plan, "wo-001", "it").subtasks
    assert (town.needs, first.needs) == ((), ("wo-001.0",))
    assert first.args == {"place": {"$result": {"subtask": "wo-001.0", "path": "/raw"}}}
    assert second.needs == ("day",), "two subtasks have this name"
    assert digit.needs == ("wo-001.1",), "a number is an index"


def named(value: Any) -> list[tuple[str, str | None]]:
    """What a value refers to, from the outside in."""
    inner = value.get("$result") if isinstance(value, dict) else None
    if isinstance(inner, dict) and isinstance(inner.get("subtask"), (str, int)):
        path = inner.get("path")
        return [(str(inner["subtask"]), path if isinstance(path, str) else None)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in parts for each in named(part)]


@settings(max_examples=2 * settings().max_examples)
@given(_JSON)
def test_only_what_names_a_subtask_is_a_reference(value: Any):
    assert [*references_in(value)] == named(value)
    renamed_value = renamed(value, lambda subtask: f"{subtask}.0")
    assert [*references_in(renamed_value)] == [(f"{subtask}.0", path) for subtask, path in named(value)]


@pytest.mark.parametrize(
    ("subtask", "agent"),
    [
        (Subtask(name="a", tool="weather_tool"), "worker_weather"),
        (Subtask(name="a", tool="look"), "worker_look"),
        (Subtask(name="a", tool="look", worker="scout"), "scout"),
        (Subtask(name="think_hard"), "worker_think_hard"),
    ],
)
def test_events_name_the_worker_file_or_the_tool(subtask: Subtask, agent: str):
    assert subtask.agent == agent
