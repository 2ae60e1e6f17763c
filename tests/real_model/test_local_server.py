"""A local server as it is: few slots, slow prompts, a small window, and answers in pieces."""

from __future__ import annotations

from leads import leadhand_of

from leadhand import Leadhand, Limits
from leadhand.core.events import ModelCallReturned, RunStarted
from real_model.conftest import Record
from real_model.flows import COLOURS, ask
from real_model.honesty import finished
from real_model.servers import MODEL, ModelServer


async def test_eight_workers_make_two_calls_at_once_on_two_slots(server: ModelServer, record: Record):
    recorder = await record(server)
    async with Leadhand(MODEL, flows=[ask], limits=Limits(max_workers=8, max_output_tokens=48)) as lead:
        document, entries = await finished(await lead.start("Choose a colour", flow="ask", times=8), recorder)

    started = next(entry.event for entry in entries if isinstance(entry.event, RunStarted))
    assert started.definition.models.windows == {MODEL: 4_096}
    assert recorder.most_at_once == 2
    assert len(recorder.sent) == document["usage"]["requests"] == 8
    assert document["status"] == "succeeded"
    chosen = [entry.event.value for entry in entries if isinstance(entry.event, ModelCallReturned)]
    assert all(value in [{"colour": colour} for colour in COLOURS] for value in chosen), "as the grammar forces it"


async def test_the_pieces_that_are_heard_are_the_text_that_the_server_wrote(server: ModelServer, record: Record):
    recorder = await record(server)
    heard: list[str] = []

    def hear(run: str, attempt: str, piece: str) -> None:
        heard.append(piece)

    async with leadhand_of(
        MODEL, flows=[ask], limits=Limits(max_output_tokens=60, max_requests=1), on_text=hear
    ) as lead:
        document, _ = await finished(await lead.start("Name one colour", flow="ask", free=True), recorder)

    assert recorder.sent[0]["stream"]
    assert len([piece for piece in heard if piece]) > 3
    (text,) = recorder.texts
    said = "".join(heard)
    if document["status"] == "succeeded":
        assert said == text
        assert document["answer"] == text.strip()
    else:  # the last word of a text that breaks off is not passed on: it may be the first part of a secret
        assert text.startswith(said)
        assert len(text[len(said) :].split()) <= 1


async def test_a_long_prompt_is_answered(server: ModelServer, record: Record):
    recorder = await record(server)
    async with Leadhand(MODEL, flows=[ask], limits=Limits(max_output_tokens=48)) as lead:
        document, _ = await finished(await lead.start("The sea is calm. " * 160, flow="ask"), recorder)

    assert document["usage"]["input_tokens"] > 800
    assert document["usage"]["requests"] == 1
    assert document["status"] == "succeeded"


async def test_a_prompt_that_is_larger_than_the_window_fails_with_that_reason(
    small_server: ModelServer, record: Record
):
    recorder = await record(small_server)
    async with Leadhand(MODEL, flows=[ask], limits=Limits(max_output_tokens=48)) as lead:
        document, _ = await finished(await lead.start("The sea is calm. " * 200, flow="ask"), recorder)

    assert document["status"] == "failed"
    assert [gap["class"] for gap in document["gaps"]] == ["too_large"]
    assert "--ctx-size" in document["gaps"][0]["next_action"]
    assert recorder.tokens == 0, "the server read none of it"
