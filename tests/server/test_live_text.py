"""The answer while it is being written, over the stream: reload in the middle, begin anew, and no secret in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from server.conftest import OpenServer
from server.doors import Served
from server.streams import Streamed, Text, first, rest
from server.teams import Author, Office

from leadhand.core.secret import REFERENCE

SECRET = "hunter2hunter2"


@pytest.fixture
def author() -> Author:
    return Author("Paris")


@pytest.fixture
async def served(serve: OpenServer, author: Author, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("BANK_PASSWORD", SECRET)
    monkeypatch.setenv("VAULT_SECRET", "correct horse battery")
    return await serve(models=author)


async def shows(stream: AsyncIterator[Streamed], text: Text, wanted: str) -> str:
    """The attempt whose text is as wanted, once it is."""
    while True:
        delta = await first(stream, "delta")
        text.take(delta)
        if text.of(delta.data["attempt"]) == wanted:
            return delta.data["attempt"]


async def test_the_answer_is_seen_while_it_is_written_and_stands_in_the_log_afterwards(
    served: Served, author: Author
) -> None:
    run_id = await served.door.started("do it")
    text = Text()
    async with served.watch(run_id) as stream:
        author.write("It is ", "quiet 🤫 ", "in Pa")
        attempt = await shows(stream, text, "It is quiet 🤫 in ")
        assert attempt == "compose/a1"
        author.write("ris, ")
        await shows(stream, text, "It is quiet 🤫 in Paris, ")
        author.write("today.")
        author.end()
        seen = await rest(stream)
    finished = next(each for each in seen if each.data.get("type") == "run_finished")
    assert finished.data["answer"] == "It is quiet 🤫 in Paris, today."
    assert not [event for event in await served.door.events(run_id) if event["type"] == "delta"]


async def test_the_answer_of_a_review_is_seen_while_it_is_written(serve: OpenServer) -> None:
    author = Author("Paris", worker="review")
    served = await serve(models=author)
    run_id = await served.door.started("do it")
    text = Text()
    async with served.watch(run_id) as stream:
        author.write('{"verdicts": [], "complete": true, "ans', 'wer": "It is \\ud83e', "\\udd2b in ")
        assert await shows(stream, text, "It is 🤫 in ") == "review-wo-001-0/a1"
        author.write('Paris."}')
        author.end()
        seen = await rest(stream)
    finished = next(each for each in seen if each.data.get("type") == "run_finished")
    assert "Paris" in finished.data["answer"]


async def test_a_reload_in_the_middle_gets_the_text_so_far(served: Served, author: Author) -> None:
    run_id = await served.door.started("do it")
    first_text, second_text = Text(), Text()
    async with served.watch(run_id) as before:
        author.write("One ", "two 🙂 ")
        await shows(before, first_text, "One two 🙂 ")
    head = (await served.door.run(run_id))["last_seq"]
    async with served.watch(run_id, headers={"last-event-id": str(head)}) as again, served.watch(run_id) as other:
        assert (await first(again, "delta")).data == {"attempt": "compose/a1", "offset": 0, "text": "One two 🙂 "}
        second_text.take(Streamed("delta", None, {"attempt": "compose/a1", "offset": 0, "text": "One two 🙂 "}))
        author.write("three ")
        await shows(again, second_text, "One two 🙂 three ")
        author.write("Paris ")
        author.end()
        await rest(again)
        await rest(other)


async def test_who_comes_when_it_is_over_gets_no_live_text(served: Served, author: Author) -> None:
    run_id = await served.door.started("do it")
    author.write("It is quiet in Paris. ")
    author.end()
    await served.door.over(run_id)

    async with served.watch(run_id) as stream:
        assert {each.kind for each in await rest(stream)} == {"message", "end"}


async def test_an_attempt_that_begins_anew_begins_anew_for_everybody(served: Served, author: Author) -> None:
    run_id = await served.door.started("do it")
    text, late = Text(), Text()
    async with served.watch(run_id) as stream:
        author.write("A first and rather long try ")
        await shows(stream, text, "A first and rather long try ")
        author.write("", "Better ")
        await shows(stream, text, "Better ")
        async with served.watch(run_id) as other:
            await shows(other, late, "Better ")
        author.write("Paris")
        author.end()
        await rest(stream)
    assert (await served.door.run(run_id))["answer"] == "Better Paris"


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["The key is ", "hunter2", "hunter2", " and more "], "The key is [redacted] and more "),
        (["Say ", "correct ", "horse ", "battery", " to Ann "], "Say [redacted] to Ann "),
        (["Send ", "Bearer ", "abcdefghijklmnop", "qrstuvwxyz ", "so it goes "], "Send Bearer [redacted] so it goes "),
        (["It is ", "-----BEGIN ", "PRIVATE KEY-----\n", "MIIEow\n", "-----END ", "PRIVATE KEY-----", "\n"],
         "It is [redacted]\n"),
    ],
)  # fmt: skip
async def test_a_secret_in_pieces_never_shows(served: Served, author: Author, pieces: list[str], shown: str) -> None:
    """Piece by piece: each is out before the next is written, if anything of it may be."""
    run_id = await served.door.started("do it")
    text = Text()
    seen: list[Streamed] = []
    async with served.watch(run_id) as stream:
        await first(stream, "message", type="attempt_started", attempt="compose/a1")
        for number, piece in enumerate(pieces):
            author.write(piece)
            if number in (0, len(pieces) - 1):
                wanted = shown if number else pieces[0]
                while REFERENCE.sub("[redacted]", text.of("compose/a1")) != wanted:
                    seen.append(await first(stream, "delta"))
                    text.take(seen[-1])
            else:
                await served.door.seen(lambda: _all_taken(author), bool)
        author.write("Paris ")
        author.end()
        seen += await rest(stream)
    said = str(seen)
    for part in ("hunter2", "correct horse", "horse battery", "abcdefghij", "MIIEow"):
        assert part not in said


async def _all_taken(author: Author) -> bool:
    return author.taken


async def test_a_run_that_is_parked_in_the_middle_of_its_answer_writes_it_again(
    served: Served, author: Author, office: Office
) -> None:
    run_id = await served.door.started("do it")
    text = Text()
    async with served.watch(run_id) as stream:
        author.write("Half an ")
        await shows(stream, text, "Half an ")
        await served.door.post(f"/api/runs/{run_id}/pause")
        await served.door.parked(run_id)
        assert not served.door.service.drafts.of(run_id)
        await served.door.post(f"/api/runs/{run_id}/resume")
        author.write("Paris, all of it. ")
        attempt = await shows(stream, text, "Paris, all of it. ")
        assert attempt != "compose/a1"
        author.end()
        await rest(stream)
    assert (await served.door.over(run_id))["answer"].strip() == "Paris, all of it."
    assert not served.door.service.drafts.of(run_id)
    assert office.calls == {"Paris": 1}
