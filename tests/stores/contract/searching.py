"""Lists of runs: what they are searched for, sorted and filtered by, and the names and tags that people give."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import Usage
from leadhand.core.run import Gap, RunStatus
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunSort
from leadhand.stores.sql_store import SqlContextStore

from .samples import Contract, began, pauses, returned, started, tokens

DENIED = Failure.of("the carrier is closed", "http_503", FailureClass.UNAVAILABLE)


async def _found(store: ContextStore, search: str = "", **filters: Any) -> list[str]:
    return [run.run_id for run in await store.runs(search=search, **filters)]


async def _finish(store: ContextStore, run_id: str, answer: str, *events: ev.AnyEvent, **fields: Any) -> None:
    finished = ev.RunFinished(status=RunStatus.SUCCEEDED, answer=answer, **fields)
    await store.append(run_id, [*events, finished])


def _called(**args: Any) -> ev.ToolCallBegan:
    return ev.ToolCallBegan(attempt="wo-001.0/a1", call_id="wo-001.0/t0/c0", tool="ship_tool", args=args)


class SearchIndexContract(Contract):
    """Runs are found by what is in them."""

    async def test_runs_are_found_by_answer_arguments_errors_and_gaps(self, store: ContextStore) -> None:
        for number in range(1, 6):
            await store.create(f"run-{number}", started("x" * 300 + " Bicycles"))
        order = WorkOrder(work_order_id="wo-001", goal="g", subtasks=(Subtask(name="pack", args={"to": ["Tromsø"]}),))
        await _finish(store, "run-1", "Rain in Paris, 12.5 °C", ev.OrderIssued(order=order))
        await _finish(store, "run-2", "", _called(item="SKU-0042", options={"note": "fragile vase"}))
        lost = ev.StepSettled(step="wo-001.0", attempt="wo-001.0/a1", ok=False, failure=DENIED)
        gap = Gap(name="Oslo", class_=FailureClass.INVALID, reason="unknown harbour")
        await _finish(store, "run-3", "", lost, gaps=(gap,), value={"total": 9917})
        await store.append("run-4", pauses("a"))
        assert await _found(store, "paris") == ["run-1"]
        assert await _found(store, "RAIN 12") == ["run-1"]
        assert await _found(store, "tromsø") == ["run-1"]
        assert await _found(store, "sku-0042") == ["run-2"]
        assert await _found(store, "fragile ship") == ["run-2"]
        assert await _found(store, "carrier harb 9917") == ["run-3"]
        assert await _found(store, "http_503") == ["run-3"]
        assert await _found(store, "bicycles") == ["run-4", "run-3", "run-2", "run-1"]  # run-5 is still running
        assert await _found(store, "xxx") == ["run-5", "run-4", "run-3", "run-2", "run-1"]
        assert await _found(store, "paris carrier") == []  # not in one run
        assert await _found(store, "aris") == []  # not the beginning of a word
        assert await _found(store, "…") == []
        assert await _found(store, " ") == ["run-5", "run-4", "run-3", "run-2", "run-1"]

    async def test_a_token_is_found_as_a_whole_and_from_each_of_its_parts_on(self, store: ContextStore) -> None:
        for number in range(1, 5):
            await store.create(f"run-{number}", started(name="nightly-build" if number == 4 else ""))
        await _finish(store, "run-1", "wo-001.0 failed with a rate_limited answer of www.example.org/a, 12.5 °C")
        await _finish(store, "run-2", "0 failed, the limit of 001 at that rate of wo; example at org; 5 to 12")
        await _finish(store, "run-3", "wo-001.10 and a rate limit")
        assert await _found(store, "wo-001.0") == ["run-1"]
        assert await _found(store, "wo-001") == ["run-3", "run-1"]
        assert await _found(store, "001.0") == ["run-1"]
        assert await _found(store, "rate-limit") == ["run-3", "run-1"]  # next to each other, however written
        assert await _found(store, "rate limit") == ["run-3", "run-2", "run-1"]
        assert await _found(store, "example.org") == ["run-1"]
        assert await _found(store, "12.5") == ["run-1"]
        assert await _found(store, "nightly-bu") == ["run-4"]  # it is running: its name and request are searched
        assert await _found(store, "ightly-build") == []
        assert await _found(store, "wo-001.0, failed.") == ["run-1"]

    async def test_no_phrase_spans_two_texts(self, store: ContextStore) -> None:
        await store.create("run-1", started("pine forest", name="old harbour"))
        await _finish(store, "run-1", "", _called(item="wo-001", place="c0ffee"))
        for search in ("wo-001", "c0f", "item-wo", "old-harbour", "pine.forest"):
            assert await _found(store, search) == (["run-1"] if search != "item-wo" else []), search
        for search in ("wo-001.c0f", "001/c", "harbour-pine", "ª"):
            assert await _found(store, search) == [], search

    async def test_accents_do_not_count(self, store: ContextStore) -> None:
        for number, answer in (
            (1, "Rain in Zürich"),
            (2, "Snow in ZURICH"),
            (3, "Regen in Zu\u0308rich, é"),
            (4, "ガ"),
        ):
            await store.create(f"run-{number}", started())
            await _finish(store, f"run-{number}", answer)
        await store.create("run-5", started("Über Zürich"))
        for search in ("Zurich", "zürich", "ZU\u0308RICH"):
            assert await _found(store, search) == ["run-5", "run-3", "run-2", "run-1"], search
        assert await _found(store, "uber") == ["run-5"]
        assert await _found(store, "カ") == []  # another letter, not an accent

    async def test_a_search_is_only_words(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await _finish(store, "run-1", "100% 'of' the \"NOT\" (weather) 東京の天気")
        for search in ("100% 'of'", '"not" (', "weather) OR 1=1"[:8], "a:* & weather"[5:], "東京", "天気", "' NOT \\"):
            assert await _found(store, search) == ["run-1"], search
        assert await _found(store, "weather OR snow") == []
        assert await _found(store, "気天 snow") == []

    async def test_large_texts_are_found_too(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        words = " ".join(f"word{number}" for number in range(60_000))
        await _finish(store, "run-1", f"first {words} last")
        assert await _found(store, "first word31999 last") == ["run-1"]
        assert await _found(store, "word60000") == []

    async def test_a_run_that_continues_is_found_by_what_is_new(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await _finish(store, "run-1", "Paris")
        assert await _found(store, "paris") == ["run-1"]
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.RUNNING, by="me"), _called(city="Lyon")])
        assert await _found(store, "lyon") == []
        await _finish(store, "run-1", "Nice")
        assert await _found(store, "lyon nice paris") == ["run-1"]

    async def test_a_key_finds_its_own_runs_only(self, store: ContextStore) -> None:
        for number, key_id in ((1, "k1"), (2, "k2")):
            await store.create(f"run-{number}", started(key_id=key_id))
            await _finish(store, f"run-{number}", "secret harbour")
        assert await _found(store, "harbour", key_id="k1") == ["run-1"]
        assert await _found(store, "harbour", key_id="k3") == []
        assert await _found(store, "harbour", limit=1) == ["run-2"]
        assert await _found(store, "harbour", before="run-2") == ["run-1"]

    async def test_a_deleted_run_is_not_found(self, store: ContextStore) -> None:
        assert isinstance(store, SqlContextStore)
        await store.create("run-1", started())
        await _finish(store, "run-1", "harbour")
        assert await _found(store, "harbour") == ["run-1"]
        await store.release("run-1", 1)
        await store.delete_runs(["run-1"])
        await store.create("run-1", started())
        await _finish(store, "run-1", "forest")
        assert await _found(store, "harbour") == []
        assert await _found(store, "forest") == ["run-1"]


class ListContract(Contract):
    """Lists of runs have every order, and the labels that people give to runs."""

    async def test_runs_are_sorted_and_filtered_by_cost_duration_status_and_flow(self, store: ContextStore) -> None:
        for number, flow in ((1, "report"), (2, "research"), (3, "report"), (4, "work-order")):
            await store.create(f"run-{number}", started(flow=flow))
        await self._spend(store, "run-2", 3_000_000_000)
        await self._spend(store, "run-3", 1_000_000_000)
        await _finish(store, "run-3", "")
        await store.append("run-1", pauses("a"))

        async def listed(sort: str, **query: Any) -> list[str]:
            runs = await store.runs(sort=RunSort(sort), **query)
            return [run.run_id.removeprefix("run-") for run in runs]

        assert await listed("created") == ["4", "3", "2", "1"]
        assert await listed("created", ascending=True) == ["1", "2", "3", "4"]
        assert await listed("cost") == ["2", "3", "4", "1"]
        assert await listed("cost", ascending=True) == ["1", "4", "3", "2"]
        assert await listed("cost", before="run-3") == ["4", "1"]
        assert await listed("cost", before="run-3", ascending=True) == ["2"]
        assert (await listed("duration"))[:2] == ["1", "2"]  # 3 ended at once; 4 may have begun a moment before
        assert await listed("duration", before="run-1", limit=1) == ["2"]
        assert await listed("flow", ascending=True) == ["1", "3", "2", "4"]
        assert await listed("flow", ascending=True, before="run-3", limit=1) == ["2"]
        assert await listed("status") == ["3", "1", "4", "2"]  # finished, paused, running
        assert await listed("cost", flow="report") == ["3", "1"]
        assert await listed("cost", min_cost_usd=1, max_cost_usd=2.5) == ["3"]
        assert await listed("created", min_duration_s=3_600) == []
        assert await listed("created", max_duration_s=3_600, max_cost_usd=0) == ["4", "1"]
        assert await listed("created", max_cost_usd=1e300, min_duration_s=-1e300) == ["4", "3", "2", "1"]

    async def _spend(self, store: ContextStore, run_id: str, nanousd: int) -> None:
        await store.append(run_id, [began("plan/c1", tokens(10))])
        await store.append(run_id, [returned("plan/c1", Usage(nanousd=nanousd))])
