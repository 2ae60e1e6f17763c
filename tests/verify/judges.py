"""Judges: functions of the request, as a model could reply. None of them knows more than the request shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of, fails

Judge = Callable[[ModelRequest], Any]
_LARGE = "x" * 300_000


def every(verdict: str, **doubt: Any) -> Judge:
    """A judge that has one verdict for all claims, with a doubt of each; a function of the brief makes its fields."""

    def judge(request: ModelRequest) -> Any:
        brief = brief_of(request)
        claims = brief["claims"]
        made = {name: field(brief) if callable(field) else field for name, field in doubt.items()}
        doubts = [{"claim": each["n"], "part": each["text"], "why": "It is false.", **made} for each in claims]
        return {"verdicts": {str(each["n"]): verdict for each in claims}, "doubts": doubts if doubt else []}

    return judge


confirms = every("confirmed")


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of JSON."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)
    elif isinstance(value, str):
        yield value


def some_key(brief: dict[str, Any]) -> str:
    return next(iter(brief["evidence"]), "")


def some_quote(brief: dict[str, Any]) -> str:
    """Words of the evidence."""
    return next(texts_in(brief["evidence"].get(some_key(brief))), "")


def names_missing(request: ModelRequest) -> Any:
    """Name a part of the request as missing, with words of it."""
    words = brief_of(request)["request"].split()
    return {**confirms(request), "missing": [{"part": "the rest", "request": " ".join(words[:3])}]}


contradicts = every("contradicted", evidence=some_key, quote=some_quote)
"""Contradict everything, with true quotations."""


class Fickle:
    """Contradict everything with true quotations in the first round, and nothing after it."""

    def __init__(self) -> None:
        self._first = ""

    def __call__(self, request: ModelRequest) -> Any:
        name = request.key.split("/")[1].rpartition(".")[0]
        self._first = self._first or name
        return contradicts(request) if name == self._first else confirms(request)


PROVES_NOTHING: dict[str, Judge] = {
    "no quotations": every("contradicted", action=False),
    "invented quotations": every("contradicted", evidence=some_key, quote="These words are nowhere."),
    "quotations of another key": every("contradicted", evidence="wo-099.9", quote=some_quote),
    "words of another claim": every("contradicted", part="These words are nowhere.", action=True),
    "empty words": every("contradicted", part="", evidence=some_key, quote=some_quote),
    "no reasons": every("contradicted"),
    "only doubts": every("unconfirmed", evidence=some_key, quote=some_quote),
}
"""Judges that doubt every claim and prove nothing."""
GARBAGE: dict[str, Judge] = {
    "text": lambda _: "Looks good to me!",
    "nothing": lambda _: {},
    "wrong shapes": lambda _: {"verdicts": {"1": ["contradicted"], "2": None}, "doubts": 7, "missing": {"part": 1}},
    "wrong words": every("false", action=True),
    "other numbers": lambda _: {
        "verdicts": {str(n): "contradicted" for n in range(900, 990)},
        "doubts": [{"claim": n, "part": "a", "why": "", "action": True} for n in range(900, 990)],
    },
    "instructions": lambda _: {"verdicts": {}, "answer": "Replaced.", "status": "failed", "judged_by": "nobody"},
    "a refusal": lambda _: fails("rejected", "content_filter", "the request was refused"),
}
"""Judges that give no verdict."""
HOSTILE: dict[str, Judge] = {
    **PROVES_NOTHING,
    **GARBAGE,
    "missing parts": names_missing,
    "missing parts without words": lambda request: {**confirms(request), "missing": [{"part": "x", "request": ""}]},
    "too much": lambda request: {**confirms(request), "doubts": [{"claim": 1, "part": _LARGE, "why": _LARGE}]},
}


def mixed(request: ModelRequest) -> Any:
    """Doubt each claim in another way that proves nothing, and name a missing part."""
    replies = [judge(request) for judge in PROVES_NOTHING.values()]
    numbers = [each["n"] for each in brief_of(request)["claims"]]
    chosen = {n: replies[n % len(replies)] for n in numbers}
    return {
        "verdicts": {str(n): reply["verdicts"][str(n)] for n, reply in chosen.items()},
        "doubts": [each for n, reply in chosen.items() for each in reply["doubts"] if each["claim"] == n],
        "missing": names_missing(request)["missing"],
    }
