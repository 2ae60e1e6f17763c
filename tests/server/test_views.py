"""The view of a run over HTTP: one snapshot says all, and patches bring every client to the same place."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from merging import merge
from server.conftest import OpenServer
from server.doors import Door, Served
from server.streams import Streamed, Text, rest, together
from server.teams import Author, Office

from leadhand.core.view import Projection
from leadhand.server.live import feeds


@pytest.fixture
async def served(serve: OpenServer) -> Served:
    return await serve()


async def snapshot(door: Door, run_id: str) -> dict[str, Any]:
    response = await door.get(f"/api/runs/{run_id}/view")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


async def folded(door: Door, run_id: str) -> dict[str, Any]:
    """The view as the log says it."""
    projection = Projection(run_id)
    projection.take_all(await door.runtime.store.read(run_id))
    return json.loads(json.dumps(projection.document))


def put_together(seen: list[Streamed], document: dict[str, Any] | None = None) -> dict[str, Any]:
    """The view of a client that took all this; every event comes once, in order."""
    for each in seen:
        if each.kind == "snapshot":
            assert each.id == str(each.data["last_seq"])
            document = each.data
        elif each.kind == "message":
            assert document is not None
            assert each.id == str(each.data["seq"])
            assert each.data["seq"] == document["last_seq"] + 1
            assert each.data["words"]["title"]
            merge(document, each.data["patch"])
            document["last_seq"], document["last_at"] = each.data["seq"], each.data["at"]
    assert document is not None
    return document


async def test_a_snapshot_is_the_fold_of_the_log(served: Served) -> None:
    run_id = await served.door.started("measure Paris, measure Oslo")
    await served.door.over(run_id)

    view = await snapshot(served.door, run_id)

    assert view == await folded(served.door, run_id)
    assert view["run"]["status"] == "partial"
    assert [lane["status"] for lane in view["steps"].values() if lane["counts"]] == ["completed", "dropped"]
    async with served.watch_view(run_id) as stream:
        first, end = await rest(stream)
    assert (first.kind, first.data, end.kind) == ("snapshot", view, "end")


async def test_patches_bring_a_client_that_watches_to_the_snapshot(served: Served, office: Office) -> None:
    run_id = await served.door.started("measure Rome, measure Paris")
    async with served.watch_view(run_id) as stream:
        seen = [await anext(stream)]
        office.gate.set()
        seen += await rest(stream)
    assert seen[0].kind == "snapshot"
    assert seen[-1].data["status"] == "succeeded"
    assert put_together(seen) == await snapshot(served.door, run_id)


@pytest.mark.slow
async def test_a_client_that_comes_back_anywhere_goes_on_without_gap_or_repeat(served: Served) -> None:
    run_id = await served.door.started("measure Paris, measure Oslo")
    head = (await served.door.over(run_id))["last_seq"]
    projection = Projection(run_id)
    for entry in await served.door.runtime.store.read(run_id):
        projection.take(entry)
        cut = entry.seq
        before = json.loads(json.dumps(projection.document))
        ways: tuple[dict[str, Any], ...] = ({"headers": {"last-event-id": str(cut)}}, {"after": cut})
        for again in ways[cut == head :]:  # who reconnects after the last event gets 204
            async with served.watch_view(run_id, **again) as stream:
                seen = await rest(stream)
            assert [each.kind for each in seen] == ["message"] * (head - cut) + ["end"]
            assert put_together(seen, before) == await snapshot(served.door, run_id)
            before = json.loads(json.dumps(projection.document))


async def test_one_that_is_further_behind_than_what_is_kept_gets_a_snapshot_first(
    served: Served, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "KEPT", 5)
    monkeypatch.setattr(feeds, "PAGE", 3)
    run_id = await served.door.started("measure Rome, measure Paris, measure Lyon")
    async with together([served.watch_view(run_id) for _ in range(3)]) as streams:
        firsts = [await anext(stream) for stream in streams]
        office.gate.set()
        seen = await asyncio.gather(*map(rest, streams))
    whole = await snapshot(served.door, run_id)
    for begun, each in zip(firsts, seen, strict=True):
        assert put_together([begun, *each]) == whole
    head = whole["last_seq"]
    for after, kinds in ((head - 6, ["snapshot", "end"]), (head - 5, ["message"] * 5 + ["end"]), (head, ["end"])):
        async with served.watch_view(run_id, after=after) as stream:
            assert [each.kind for each in await rest(stream)] == kinds


async def test_live_text_comes_with_the_view(serve: OpenServer) -> None:
    author = Author("Paris")
    served = await serve(models=author)
    run_id = await served.door.started("do it")
    text = Text()
    async with served.watch_view(run_id) as stream:
        seen = [await anext(stream)]
        author.write("It is ", "quiet 🤫 ", "in Pa")
        while text.of("compose/a1") != "It is quiet 🤫 in ":
            seen.append(await anext(stream))
            if seen[-1].kind == "delta":
                text.take(seen[-1])
        author.write("ris.")
        author.end()
        seen += await rest(stream)
    assert put_together(seen) == await snapshot(served.door, run_id)


async def test_a_run_is_folded_once_for_all_who_watch_it(
    served: Served, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[int] = []
    take = Projection.take

    def counted(self: Projection, entry: Any) -> Any:
        if (change := take(self, entry)) is not None:
            folds.append(entry.seq)
        return change

    run_id = await served.door.started("measure Rome, measure Paris")
    monkeypatch.setattr(Projection, "take", counted)
    async with together([served.watch_view(run_id) for _ in range(10)]) as streams:
        office.gate.set()
        seen = await asyncio.gather(*map(rest, streams))
    assert folds == list(range(1, seen[0][-1].data["last_seq"] + 1))
    whole = await snapshot(served.door, run_id)
    assert all(put_together(each) == whole for each in seen)


async def test_a_fold_that_fails_ends_the_stream_and_the_next_one_begins_anew(
    served: Served, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await served.door.started("measure Rome")
    take = Projection.take

    def fails(self: Projection, entry: Any) -> Any:
        if entry.event.type == "tool_call_returned":
            raise RuntimeError("a defect")
        return take(self, entry)

    with monkeypatch.context() as patched:
        patched.setattr(Projection, "take", fails)
        async with served.watch_view(run_id) as stream:
            office.gate.set()
            assert "end" not in [each.kind for each in await rest(stream)]
    async with served.watch_view(run_id) as stream:
        assert put_together(await rest(stream)) == await folded(served.door, run_id)


async def test_the_document_of_a_run_that_is_driven_here_does_not_fold_its_log_again(
    api: Door, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await api.started("measure Paris, measure Rome")
    await api.seen(lambda: api.events(run_id), lambda _: office.calls["Rome"])
    before = await api.run(run_id)

    def again(*_: object) -> None:
        raise AssertionError("the log was folded from its beginning")

    with monkeypatch.context() as patched:
        patched.setattr("leadhand.engine.loading.replay", again)
        shown = await api.run(run_id)
    assert shown["last_seq"] >= before["last_seq"]
    assert {each["id"]: each["status"] for each in shown["steps"]}["wo-001.1"] == "running"
    office.gate.set()
    over = await api.over(run_id)
    assert over["last_seq"] == len(await api.events(run_id))
    assert over["status"] == "succeeded"
