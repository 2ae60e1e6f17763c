"""The OpenAPI document: whole, and true of what the routes answer to whatever is sent."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Self, get_args

import pytest
from fastapi.routing import iter_route_contexts
from server.doors import PATIENCE_S, Door, Served
from server.teams import Office

from leadhand.core.events import EVENT_TYPES, AnyEvent
from leadhand.ports.models import ModelRequest
from leadhand.server.app import routed
from leadhand.server.live import streams
from leadhand.server.serving import Server
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, plans, subtask

Document = dict[str, Any]
OPTIONAL = (
    "always approve args asked attempt blocked_args by cached changed_by confirmed continues data declined "
    "effect expired held_back held_back_s judgement judges kept key left_out limits lost may_approve name needs_prices "
    "raw reason refused request sample shared slept_s steps summary tags turns value waits_for waits_s "
    "within workers"
)
OPERATIONS = [
    (method, route.path_format)
    for route in iter_route_contexts(routed().routes)
    if route.include_in_schema
    for method in route.methods
]
"""The method and the path of each operation, without the document: pytest asks for them in every process."""


def test_every_route_is_described(document: Document) -> None:
    described = {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert set(described) == set(OPERATIONS)
    for (method, path), operation in described.items():
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], f"the docstring of {where}"
        assert operation["tags"], where
        for status, response in operation["responses"].items():
            assert response["description"], where
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"], where
        if path.startswith("/api") and path != "/api/session":
            assert {"401", "403", "429", "503"} <= set(operation["responses"]), where
        assert {"421", "500"} <= set(operation["responses"]), where
        assert all(parameter["description"] for parameter in operation.get("parameters", [])), where


def test_bodies_and_problems_have_an_example(document: Document) -> None:
    for name in ("Submission", "FollowUp", "ProblemDetails"):
        assert document["components"]["schemas"][name]["examples"], name


def test_every_type_of_event_is_described_with_its_place_in_the_log(document: Document) -> None:
    shapes = document["components"]["schemas"]
    described = shapes["EventDocument"]["discriminator"]["mapping"]

    assert set(described) == {cls.model_fields["type"].default for cls in get_args(AnyEvent)}
    for type_, reference in described.items():
        shape = shapes[reference.rpartition("/")[2]]
        assert shape["properties"]["type"]["const"] == type_
        left_out = set(shape["properties"]) - set(shape["required"])
        assert left_out <= {*OPTIONAL.split()}, "an event has all its fields, but for what is empty"
        assert {"seq", "at", "epoch", "words", *EVENT_TYPES[type_].model_fields} == set(shape["properties"])
    for path in ("/api/runs/{run_id}/events", "/api/runs/{run_id}/events/{seq}"):
        answered = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert answered["$ref"].endswith(("/EventsPage", "/EventDocument"))


def test_no_shape_is_named_after_a_module(document: Document) -> None:
    """Two classes of one name in the document would be; generators of clients refuse some of those."""
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


@pytest.mark.parametrize("name", ["RunDocument", "RunLine", "ApprovalCard", "ToolSpec"])
def test_no_document_holds_objects_of_unknown_shape(name: str, document: Document) -> None:
    """Arguments, results, the answers of workers, plans of stages and JSON schemas alone may hold anything."""
    free = {"args", "plan", "content", "raw", "value", "parameters", "equals", "expected_output", "answer", "output"}
    shapes = document["components"]["schemas"]
    assert [path for path in _open_objects(shapes, name, name) if path.rpartition(".")[2] not in free] == []


def _open_objects(shapes: dict[str, Any], name: str, path: str) -> Iterator[str]:
    """The paths of fields that may hold anything, in a shape and those that it refers to."""
    for field, shape in shapes[name].get("properties", {}).items():
        here = f"{path}.{field}"
        pending = [shape]
        while pending:
            each = pending.pop()
            if "$ref" in each:
                yield from _open_objects(shapes, each["$ref"].rpartition("/")[2], here)
            elif each.get("additionalProperties") is True or not each.keys() - {"title", "description", "default"}:
                yield here
            else:
                below = [each.get("items"), each.get("additionalProperties"), *each.get("anyOf", ())]
                pending += [one for one in below if isinstance(one, dict)]


# --- whatever is sent -------------------------------------------------------------------------------------------------


class Threaded(Server):
    """A server in a thread, where nobody sends signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Elsewhere:
    """A server in a thread of its own, with runs in several states."""

    def __init__(self, home: Path) -> None:
        self.url = ""
        self.named: dict[str, Iterator[str]] = {}
        """What there is, by the name of a path's parameter: taken in turn."""
        self._home = home
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="server")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        office = Office()
        office.gate.set()
        tools = [office.measure, office.pay]
        models = ScriptedModel(plan=_planned, lenient=True)
        async with Served(self._home, server=Threaded, models=models, tools=tools) as served:
            await self._prepare(served.door)
            served.door.app.state.access.still = _never
            self.url = served.url
            self._ready.set()
            await self._over.wait()

    async def _prepare(self, api: Door) -> None:
        """Make runs to look at and to steer: over, waiting, parked."""
        runs = [await api.started(request) for request in ("measure Paris", "measure Oslo", "pay Ann", "pay Ben")]
        for run_id in runs[:2]:
            await api.over(run_id)
        cards = [card for run_id in runs[2:] for card in await api.asked(run_id)]
        await api.post(f"/api/runs/{runs[3]}/pause")
        self.named = {
            "run_id": itertools.cycle(runs),
            "approval_id": itertools.cycle([card["approval_id"] for card in cards]),
            "name": itertools.cycle(["measure", "pay", "lead", "worker"]),
            "seq": itertools.cycle(["1", "5", "1000"]),
        }


async def _never(_: object) -> bool:
    """Streams end with their first heartbeat, since those of some runs never end by themselves."""
    return False


def _planned(request: ModelRequest) -> Step:
    what, _, who = brief_of(request)["request"].partition(" ")
    if what == "pay":
        return plans(subtask("pay", "pay", to=who))
    return plans(subtask("measure", "measure", place="Oslo" if who == "Oslo" else "Paris"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    with pytest.MonkeyPatch.context() as patch, Elsewhere(tmp_path_factory.mktemp("openapi")) as running:
        patch.setattr(streams, "BEAT_S", 0.1)
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_whatever_is_sent_is_answered_as_the_document_says(method: str, path: str, server: Elsewhere) -> None:
    """Schemathesis takes a while to import and to make cases: only a process that runs these tests does either."""
    from server.sent_cases import check_route

    check_route(method, path, server.url, server.named)
