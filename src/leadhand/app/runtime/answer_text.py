"""The text of an answer while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from leadhand.app.runtime.runtime import Runtime
from leadhand.core.ids import step_of
from leadhand.core.state import RunState


@dataclass(frozen=True, slots=True)
class TextPiece:
    """The next piece of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextRestarted:
    """The answer starts again: what came before it no longer counts, for this ``reason``."""

    reason: str


async def pieces_of(
    runtime: Runtime, run_id: str, rests: Callable[[], Awaitable[RunState]]
) -> AsyncGenerator[TextPiece | TextRestarted]:
    """Yield the answer of a run while it is written; ``rests`` returns its state once it rests, also if nobody listens
    any more."""
    heard = asyncio.Queue[tuple[str, str] | None]()
    writing = shown = space = ""
    with runtime.texts.listening(run_id, lambda _, attempt, piece: heard.put_nowait((attempt, piece))):
        resting = asyncio.ensure_future(rests())
        resting.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (said := await heard.get()) is not None:
                attempt, piece = said
                if shown and (not piece or attempt != writing):
                    shown = space = ""
                    is_other = step_of(attempt) != step_of(writing)
                    yield TextRestarted("the answer is corrected" if is_other else "the text was not accepted")
                writing = attempt
                text = (space + piece) if shown else piece.lstrip()  # an answer neither begins nor ends with space
                space = text[len(text.rstrip()) :]
                if new := text.rstrip():
                    shown += new
                    yield TextPiece(new)
        finally:
            if not resting.done():
                resting.add_done_callback(lambda task: task.cancelled() or task.exception())
    state = await resting
    answer = state.finished.answer if state.finished is not None else ""
    if shown and answer and not answer.startswith(shown):
        shown = ""
        yield TextRestarted("the answer is another text")
    if rest := answer[len(shown) :]:
        yield TextPiece(rest)
