"""Texts that are longer than one reply: the parts of a text, and what asks a model for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from leadhand.core.errors import Failure, FailureClass
from leadhand.engine.attempts.conversation_turn import Turn
from leadhand.ports import Work

CUT = "cut_answer"
LONGEST_SHOWN = 200
"""Characters of the last line of a part that a model is shown."""
LEAST_TURNS = 3
"""Replies that an attempt must be allowed for a text in parts: two parts, and a shorter text if it does not end."""


def in_parts(work: Work) -> bool:
    """Whether the text of an attempt may be continued in another reply."""
    return work.worker.continues and work.shape is None and work.max_turns >= LEAST_TURNS


def kept(text: str) -> str:
    """Return the lines of a text that are complete; of one line, its complete sentences."""
    lines = text.rstrip().rpartition("\n")[0].rstrip()
    if lines:
        return lines
    ends = [text.rfind(end) + 1 for end in (". ", "! ", "? ", "。")]
    return text[: max(ends)]


def joined(parts: Sequence[str]) -> str:
    """Return a text from its parts, of which all but the last were cut off.

    A part that begins with the first line of the text begins the text again; the last line of the part before it is not
    repeated.
    """
    text = ""
    for number, part in enumerate(parts, start=1):
        rest = part if number == len(parts) else kept(part)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        first, _, more = rest.lstrip().partition("\n")
        if lines and first.strip() == lines[-1]:
            rest = more
        elif not lines or first.strip() == lines[0]:
            text = ""
        space = "\n" if text.endswith("\n") or rest.startswith("\n") else "\n\n" if _begins_block(rest) else "\n"
        text = f"{text}{space}{rest}" if text else rest
    return text


def _begins_block(text: str) -> bool:
    """Whether a text begins with a paragraph or a heading, not with an item of a list or a row of a table."""
    return text[:1] not in "-*+|" and not text[:1].isdigit()


def whole(turns: Sequence[Turn]) -> Turn:
    """Return the last turn, with the text of the parts right before it."""
    last = turns[-1]
    parts = [each.message.text for each in reversed([*takewhile(lambda each: each.cut, reversed(turns[:-1]))])]
    if not parts:
        return last
    return replace(last, message=last.message.model_copy(update={"text": joined([*parts, last.message.text])}))


def begun(turns: Sequence[Turn]) -> str:
    """Return what is kept of a text that another reply continues; "" if none does."""
    return kept(whole(turns).message.text) if turns and turns[-1].cut else ""


def grows(turns: Sequence[Turn]) -> bool:
    """Whether the last part, which was cut off, has a line that the parts before it do not have."""
    before = {line.strip() for line in begun(turns[:-1]).splitlines()}
    return any(line.strip() and line.strip() not in before for line in kept(turns[-1].message.text).splitlines())


def next_part(turn: Turn) -> str:
    """Return the message that asks for the rest of a text whose last part was cut off."""
    line = kept(turn.message.text).rstrip().rpartition("\n")[2].strip()
    shown = line if len(line) <= LONGEST_SHOWN else f"…{line[-LONGEST_SHOWN:]}"
    return (
        "The text was cut off, since one reply cannot be longer. It is kept up to this line:\n\n"
        f"{shown}\n\nReply with what follows this line, to the end of the text. Do not repeat anything, do not begin"
        " again, and do not mention this."
    )


def never_ended(work: Work, parts: int) -> Failure:
    """Return the failure of a text that was cut off again and again."""
    many = f"{parts} replies" if parts > 1 else "a reply"
    message = f"the text did not end within {many} of {work.definition.limits.max_output_tokens} tokens"
    how = "raise --max-output-tokens, or ask for a shorter text"
    return Failure.of(message, CUT, FailureClass.INVALID, how)
