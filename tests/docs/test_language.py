"""Everything a person reads is plain technical English: pages, messages, names, docstrings, comments, labels."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from documents import PAGES, ROOT

AVOIDED = {
    r"\b(?:is|are|was|were|be) none\b(?! of)": "name what is missing: 'no approvals are pending'",
    r"(?<!there )(?<!which )\b(?:is|are|was|were) no (?!longer\b|more\b)[a-z]+": "say 'is not a …'",
    r"\bmend(?:s|ed|ing)?\b": "fix, correct",
    r"\b(?:re)?told\b": "say who informs whom, or name the value",
    r"\bblot(?:s|ted|ting)?\b": "redact",
    r"\bwish(?:es|ed|ing)?\b": "request",
    r"\bwho(?:so)?ever\b": "name the person",
    r"\banew\b": "again",
    r"\bwhence\b": "from where",
    r"\bnobody wants\b": "unused",
    r"\b(?:has|have|had) not got\b": "lacks, does not have",
    r"\bwhat it takes\b": "arguments",
    r"\b(?:come|comes|came) to another\b": "writes a new answer",
    r"\b(?:go|goes|going|went|gone) on with\b": "resume, continue",
    r"\bsilence is a no\b": "an unanswered approval is denied",
    r"\b(?:see|sees|seen) to it\b": "ensure",
    r"\bwhat (?:becomes|became|become|comes|came) of\b": "name the outcome",
    r"\bput(?:s)? (?:the|a) question\b": "ask",
    r"\bperson's yes\b": "approval",
    r"\bin the light of\b": "depending on",
    r"\bbe it\b": "or",
    r"\bhand(?:s|ed|ing)? out\b": "assign, create",
    r"\b(?:is|are|was|were) under way\b": "running, open",
    r"\bin silence\b": "silently",
    r"\bfound wanting\b": "rejected",
    r"\b(?:held|holding it) against\b": "checked against",
    r"\bwants? what\b": "say what is invalid",
    r"\bmay have done\b": "may have made an irreversible call",
    r"\bgiven up because\b": "blocked by",
    r"\bwith success\b": "successfully",
    r"\bfor want of\b": "without",
    r"\ball the same\b": "anyway",
    r"\b(?:that|as it|as they) ships?\b(?! with)": "built-in",
    r"\bnothing was decided\b": "say what did not happen, and why",
    r"\bstands? (?:in|at|behind|beside|under|over|between|by|there|here)\b": "is",
}
"""What the style sheet rules out, as patterns, and what to write instead."""

PATTERNS = {
    re.compile(pattern, re.IGNORECASE if "none" not in pattern else 0): hint for pattern, hint in AVOIDED.items()
}


_AROUND = re.compile(r"\(\?<![^()]*\)|\(\?![^()]*\)$")
"""What must not be before or behind a phrase."""
_ANY = [
    re.compile("|".join(_AROUND.sub("", pattern) for pattern in AVOIDED if ("none" in pattern) is as_is))
    for as_is in (False, True)
]
"""All patterns at once, wherever the phrase is: for text in small letters, and for text as it is."""


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def texts() -> list[Path]:
    """Every file of the project whose words a person reads."""
    source = ROOT / "src" / "leadhand"
    console = [path for kind in ("*.ts", "*.tsx", "*.html") for path in (ROOT / "console" / "src").rglob(kind)]
    return sorted({*PAGES, *source.rglob("*.py"), *source.rglob("*.md"), *(ROOT / "examples").rglob("*.py"), *console})


def pieces(path: Path) -> Iterator[tuple[int, str]]:
    """The words of a file with their lines. Of Python these are names, strings and comments, not the code between."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, text
        return
    spoken = (tokenize.NAME, tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1))
    comment, begun = "", 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:  # a sentence may run over several lines of comments
            comment, begun = f"{comment} {token.string.lstrip('# ')}", begun or token.start[0]
            continue
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            continue
        if comment:
            yield begun, comment
            comment, begun = "", 0
        if token.type == tokenize.NAME:
            yield token.start[0], re.sub(r"_+|(?<=[a-z])(?=[A-Z])", " ", token.string)
        elif token.type in spoken:
            yield token.start[0], token.string
    if comment:
        yield begun, comment


@cache
def phrases(piece: str) -> list[tuple[int, str, str]]:
    """Each phrase to avoid: how many lines further down, the phrase, and what to write instead."""
    joined = re.sub(r"\s", " ", piece)  # a phrase may be wrapped; the length stays, so that lines can be counted
    return [
        (piece[: match.start()].count("\n"), match[0], hint)
        for pattern, hint in PATTERNS.items()
        for match in pattern.finditer(joined)
    ]


def may_have(text: str) -> bool:
    """Whether a phrase to avoid may be in the words of a file: taking a file of Python apart is slow."""
    text = re.sub(r"(?:\s|#|_)+|(?<=[a-z])(?=[A-Z])", " ", text)
    small, as_is = _ANY
    return small.search(text.lower()) is not None or as_is.search(text) is not None


def findings(path: Path) -> list[str]:
    """Each phrase to avoid in a file: where it is, and what to write instead."""
    if not may_have(path.read_text(encoding="utf-8")):
        return []
    return [
        f"{named(path)}:{line + below}: {phrase!r}: {hint}"
        for line, piece in pieces(path)
        for below, phrase, hint in phrases(piece)
    ]


def test_every_text_is_plain_technical_english() -> None:
    assert [each for path in texts() for each in findings(path)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "the text is no JSON object",
        "Raises UsageError for what is none.",
        "how to mend it",
        "the model is told",
        "it has not got it",
        "What it takes",
        "the run is gone on with",
    ],
)
def test_a_phrase_to_avoid_is_found(sentence: str) -> None:
    assert any(pattern.search(sentence) for pattern in PATTERNS)
    assert may_have(sentence.replace(" ", "\n    # "))


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no sandbox.",
        "the run is no longer active",
        "`value` is None",
        "we recommend it",
        "it is none of these",
    ],
)
def test_a_plain_sentence_passes(sentence: str) -> None:
    assert not any(pattern.search(sentence) for pattern in PATTERNS)
