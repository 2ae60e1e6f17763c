"""Separates what a model thought aloud (``<think>…</think>`` before its answer) from what it answers."""

from __future__ import annotations

import re

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPEN = tuple(f"<{tag}>" for tag in _TAGS)
# Some chat templates open the tag in the prompt, so that an answer begins inside it and only ever closes it.
_ORPHAN = re.compile(r"(?:^|\n)</(?:think|thinking)>\s*(?=\n|$)")


def answer_in(text: str) -> str:
    """What of ``text`` is the answer: all of it, less the thinking it begins with. "" if the thinking never ends."""
    heard = AnswerOnly()
    answer = heard.take(text) + heard.close()
    if answer and not heard.thought and (orphan := _ORPHAN.search(answer)):
        return answer[orphan.end() :].lstrip()
    return answer


class AnswerOnly:
    """The same for a text that comes in pieces: ``take`` gives what of each is answer, ``close`` what was held back.

    Thinking that closes a tag it never opened is known only once it has been passed on: drafts show it, answers do not.
    """

    def __init__(self) -> None:
        self.thought = False
        self._held = ""
        self._closing = ""
        self._plain = False
        self._skip_blanks = False

    def take(self, piece: str) -> str:
        if self._plain:
            return piece
        self._held += piece
        if not self._closing and not self._begin():
            return ""
        if self._closing:
            end = self._held.find(self._closing)
            if end < 0:
                self._held = self._held[-len(self._closing) :]
                return ""
            self._held = self._held[end + len(self._closing) :]
            self._closing, self._skip_blanks = "", True
        if self._skip_blanks:
            self._held = self._held.lstrip()
            if not self._held:
                return ""
        self._plain = True
        answer, self._held = self._held, ""
        return answer

    def _begin(self) -> bool:
        """Whether it is known how the text begins: with thinking or without."""
        if self._skip_blanks:
            return True
        start = self._held.lstrip()
        opened = next((tag for tag in _OPEN if start.startswith(tag)), "")
        if opened:
            self.thought = True
            self._closing = f"</{opened[1:]}"
            self._held = start.removeprefix(opened)
            return True
        return bool(start) and not any(tag.startswith(start) for tag in _OPEN)

    def close(self) -> str:
        """What of the text was held back and is answer after all."""
        held = "" if self._closing or self._skip_blanks or self._plain else self._held
        self._held = ""
        return held
