"""What the Python door is handed: whatever cannot be is refused at once, in one line what and one line how."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import ConfigurationError, Leadhand, Limits, NoSuchRun, RunStatus, ToolReturn, UsageError, tool
from leadhand.app.settings import make_home
from leadhand.hooks import BeforeModel, Block, Hook


def two_lines(refused: UsageError) -> bool:
    return bool(refused.what and refused.how) and "\n" not in refused.what + refused.how


def _hook(timeout: Any) -> Hook:
    class Timed(Hook):
        def before_model(self, call: BeforeModel) -> Block | None:
            return None

    Timed.timeout = timeout
    return Timed()


@pytest.mark.parametrize(
    "request_", [None, 5, b"x", ["x"], "\ud800", "a\x00b", "", " \n", "x" * 1_000_000], ids=lambda said: repr(said)[:9]
)
def test_what_is_no_request_is_refused_and_shown_one_in_python(home: Path, request_: Any) -> None:
    with pytest.raises(UsageError) as refused:
        Leadhand(model="offline", home=home).run_sync(request_)

    assert two_lines(refused.value)
    assert "leadhand run" not in refused.value.how
    assert not home.exists()


@pytest.mark.parametrize(
    "given",
    [
        {"timeout": 0},
        {"timeout": "x"},
        {"timeout": float("inf")},
        {"max_steps": 0},
        {"max_steps": "3"},
        {"max_steps": 1.5},
        {"max_steps": True},
        {"max_steps": None},
        {"max_workers": 10**9},
        {"batch_size": 0},
        {"budget": -1},
        {"budget": float("nan")},
        {"budget": "1"},
        {"max_requests": 0},
        {"max_tokens": -1},
        {"approve": "maybe"},
        {"approve": 5},
        {"approve": {5: "ask"}},
        {"approve": {"*": "maybe"}},
        {"approve": {"tool": "ask"}},
        {"approve": {"toll:x": "ask"}},
        {"approve": {"tool:": "ask"}},
        {"approve": {"tool:x": "maybe"}},
        {"approve": {"tool:x": None}},
        {"approve": {"effect:onec": "ask"}},
        {"approval_timeout": 0},
        {"approval_timeout": "1"},
        {"tools": [42]},
        {"tools": 42},
        {"tools": "weather"},
        {"tools": [dict.get]},
        {"home": ""},
        {"home": 5},
        {"store": ""},
        {"store": 5},
        {"model": ""},
        {"model": "\ud800"},
        {"model": 5},
        {"model": {"lead": ""}},
        {"model": {"writer": "offline"}},
        {"models": "offline"},
        {"allow_unknown_price": 1},
        {"limits": {"budget": 1}},
        *({"hooks": [_hook(seconds)]} for seconds in (0, -1, True, "1", float("nan"), float("inf"))),
        {"flows": 3},
        {"flows": "mine"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_arguments_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        leadhand_of(
            **{"limits": Limits(**{name: given.pop(name) for name in {*given} & {*Limits.model_fields}}), **given}
        )

    assert two_lines(refused.value)


@pytest.mark.parametrize("run_id", [None, 5, "\ud800"])
async def test_what_is_no_run_id_is_refused(home: Path, run_id: Any) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        with pytest.raises(UsageError):
            await lead.attach(run_id)
        with pytest.raises(UsageError):
            await lead.resume(run_id)
        with pytest.raises(NoSuchRun):
            await lead.attach("run_1")


async def test_a_setting_of_all_runs_is_pointed_to_where_it_belongs(home: Path) -> None:
    with pytest.raises(UsageError) as refused:
        Leadhand(model="offline", home=home).run_sync("Weather in Paris?", timeout=0)
    assert refused.value.field == "options.timeout"
    assert "limits=Limits(timeout=…)" in refused.value.how
    async with Leadhand(model="offline", home=home) as lead:
        wrongs: list[dict[str, Any]] = [{"flow": 3}, {"plan_only": "x"}, {"strict": "x"}, {"budgett": 3}]
        for wrong in wrongs:
            with pytest.raises(UsageError) as refused:
                await lead.start("Weather in Paris?", **wrong)
            assert two_lines(refused.value)
        filters: list[dict[str, Any]] = [{"colour": "red"}, {"asking": "x"}, {"ascending": "x"}]
        for wrong in filters:
            with pytest.raises(UsageError) as refused:
                await lead.runs(**wrong)
            assert two_lines(refused.value)


async def test_runs_are_named_tagged_and_found_by_their_tags(home: Path) -> None:
    tags = {"team": "data", "env": "prod"}
    async with Leadhand(model="offline", home=home) as lead:
        answer = await lead.run("Weather in Paris?", name=" Nightly ", tags=tags)
        await lead.run("Weather in Lyon?", tags={"team": "data"})
        again = await (await lead.get(answer.run_id)).follow_up("And in Rome?", tags={"env": "test"})
        entries = await (await lead.runtime()).store.read(answer.run_id)
        planned = next(entry.seq for entry in entries if entry.event.type == "order_issued")
        fork = await lead.fork(answer.run_id, planned)
        await asyncio.gather(again.answer(), fork.answer())
        found = [run.run_id for run in await lead.runs(tags=tags)]
        definitions = [run.state.definition for run in (again, fork)]
        for wrong in ("team=data", {"a b": "c"}, {"a": 1}, {1: "a"}, {"a": "b\nc"}, {"a": "b\n"}):
            with pytest.raises(UsageError) as refused:
                await lead.runs(tags=wrong)  # pyright: ignore[reportArgumentType]
            assert two_lines(refused.value)
        with pytest.raises(UsageError, match="33"):
            await again.follow_up("And in Oslo?", tags={f"t{number}": "" for number in range(31)})

    assert (answer.document["name"], answer.document["tags"]) == ("Nightly", tags)
    assert found == [fork.run_id, answer.run_id]
    assert [(each.name, each.tags) for each in definitions] == [
        ("", {"team": "data", "env": "test"}),
        ("Nightly", tags),
    ]


@pytest.mark.parametrize(
    "given",
    [{"name": None}, {"name": "a\nb"}, {"tags": ["a"]}, {"tags": {"a": None}}],
    ids=str,
)
def test_a_name_and_tags_that_cannot_be_are_refused_before_anything_is_made(home: Path, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        Leadhand(model="offline", home=home).run_sync("Weather in Paris?", **given)

    assert two_lines(refused.value)
    assert not home.exists()


def test_requests_and_tokens_can_be_limited(home: Path) -> None:
    answer = Leadhand(model="offline", home=home, limits=Limits(max_requests=1, max_tokens=500_000)).run_sync(
        "Weather in Paris?"
    )

    assert answer.document["limits"]["max_requests"] == 1
    assert answer.document["limits"]["max_tokens"] == 500_000
    assert answer.status is RunStatus.PARTIAL
    assert "exhausted" in {gap.class_ for gap in answer.gaps}


def test_many_processes_may_make_one_home_at_once(home: Path) -> None:
    failures: list[BaseException] = []
    gate = threading.Barrier(8)

    def make() -> None:
        gate.wait()
        try:
            for _ in range(200):
                make_home(home)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert list(home.iterdir()) == []


async def test_a_model_that_the_program_brings_along_is_not_looked_for_elsewhere(home: Path, lead_of: Any) -> None:
    """Neither by name, nor by a ``check`` of its own that means something else."""

    class Checked(lead_of):  # pyright: ignore[reportUntypedBaseClass]
        def check(self, model: str) -> None:
            raise AssertionError(model)

    begun = asyncio.Event()
    go_on = asyncio.Event()

    @tool
    async def step(n: int) -> ToolReturn:
        """One step."""
        begun.set()
        await go_on.wait()
        return ToolReturn(raw=n, summary="done")

    models = Checked("step", [{"n": 0}])
    async with Leadhand(models=models, tools=[step], home=home) as lead:
        run = await lead.start("one step")
        await begun.wait()
        await run.pause()
        await run.answer()
    go_on.set()
    async with Leadhand(model="offline", tools=[step], home=home) as other:
        with pytest.raises(ConfigurationError, match="custom"):
            await other.resume(run.run_id)
    async with Leadhand(models=models, tools=[step], home=home) as lead:
        assert (await (await lead.resume(run.run_id)).answer()).status is RunStatus.SUCCEEDED
