"""The parts of a question, by a small grammar, and the few questions that need no research."""

from __future__ import annotations

import re
from fractions import Fraction

from leadhand.domain.relevance import terms
from leadhand.flows.offline.words import FUNCTION, GREETINGS, word_set
from leadhand.flows.report.citations import Status, check

MOST_PARTS = 12
"""Parts of a question, at most; what follows belongs to the last one."""
_ASKING = word_set(
    """difference differences different differ between compare compared comparison versus vs happen happens mean means
    meaning define definition explain describe summarise summarize exactly really possible best good kind kinds way ways
    make makes know known support supports supported offer offers allow allows
    against another other others without during while through first last next"""
)
"""Words that say what kind of answer a question wants, not what it is about."""
_OTHER_GREETINGS = word_set("hallo moin servus bonjour bonsoir salut merci hola gracias ciao grazie danke")
_NO_CONTENT = _ASKING | FUNCTION | GREETINGS | _OTHER_GREETINGS
_MEASURES = word_set(
    """cost costs price prices pay euro euros dollar dollars expensive cheap deep long high wide big large old new fast
    hot cold heavy far often happened"""
)
"""Words that ask for a property, without the thing that has it."""
_OPENER = (
    r"(?:how|what|when|where|why|who|whom|whose|which|does|do|did|is|are|was|were|can|could|should|would|will|has|have)"
)
_END = re.compile(r"(?<=[?!;])\s+|(?<=[^\W\d_]{2}\.)\s+(?=[A-Z])|\s*\n\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
_NUMBER = re.compile(r"\A(?:[-*•]|\d{1,2}[.)])\s+")
_AND = re.compile(rf"\s*,?\s+and\s+(?={_OPENER}\b)|,\s+(?={_OPENER}\b)", re.IGNORECASE)
_STATEMENT = re.compile(r"(?:i|i'm|we|my|our|it|this|there|he|she|they)\b", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\bdifferences? between (?P<one>.+?) and (?P<other>.+)|\bcompare (?P<one2>.+?) (?:and|with|to) (?P<other2>.+)"
    r"|\b(?P<one3>\w+) (?:vs\.?|versus) (?P<other3>.+)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the)\s", re.IGNORECASE)
_WHAT_IS = re.compile(r"(?:what|who)(?: is| are| was| were|'s) (?:an?|the)\s", re.IGNORECASE)
_BACK = re.compile(r"\b(?:it|its|they|them|their|that|this|those|these|he|she|him|her|there)\b", re.IGNORECASE)
_SUM = re.compile(
    r"(?:(?:what is|what's|how much is|calculate|compute)\s+)?"
    r"(?P<a>-?\d{1,15}(?:\.\d{1,9})?)\s*(?P<sign>[-+*/x×÷:])\s*(?P<b>-?\d{1,15}(?:\.\d{1,9})?)\s*[=?.!\s]*",
    re.IGNORECASE,
)
NOTHING_ASKED = (
    "This is Leadhand's built-in rule-based model (offline, no LLM). It answers questions with sentences of documents:"
    " Leadhand's own documentation, sample documents, and your own with `--documents DIR`. Ask a question that names"
    " what it is about."
)


def content(text: str) -> list[str]:
    """Return the words of a question that say what it is about; those of any kind if there are no others."""
    found = terms(text)
    return [word for word in found if word not in _NO_CONTENT] or found


def _has_content(text: str) -> bool:
    return any(word not in _NO_CONTENT and not word.isdecimal() for word in terms(text))


def answer_at_once(question: str) -> str:
    """Return the answer to a question that needs no research: a sum, or one that asks about nothing; else ""."""
    found = _SUM.fullmatch(question.strip())
    if found is None:
        return "" if _has_content(question) else NOTHING_ASKED
    one, other, sign = Fraction(found["a"]), Fraction(found["b"]), found["sign"].casefold()
    if sign in "/÷:" and not other:
        return f"{found['a']} / {found['b']} has no result: the divisor is zero."
    results = {"+": one + other, "-": one - other, "*": one * other, "/": one / (other or 1)}
    sign = {"x": "*", "×": "*", "÷": "/", ":": "/"}.get(sign, sign)
    result = results[sign]
    exact = result * 10**9 == int(result * 10**9)
    shown = str(result) if result.denominator == 1 else f"{float(result):.9f}".rstrip("0")
    return f"{found['a']} {sign} {found['b']} {'=' if exact else '≈'} {shown}"


def needs_no_source(question: str, answer: str) -> bool:
    """Whether an answer needs no source, as far as code can see.

    The question asks about nothing (a greeting) and the answer states no facts, or it is a sum and its result is there.
    """
    at_once = answer_at_once(question)
    given = [question, at_once]
    if _SUM.fullmatch(question.strip()):
        result = re.split("[=≈] ", at_once)[-1]
        given += [f"{int(result):,}"] if result.lstrip("-").isdecimal() else []
        if re.search(rf"(?<![\d.]){re.escape(result)}(?!\d)", answer.replace(",", "")) is None:
            return False
    if not at_once:
        return False
    return all(each.status is Status.OWN_REASONING for each in check(answer, {}, "\n".join(given)))


def parts(question: str) -> list[str]:
    """Return the parts of a question in its order: each side of a comparison before it."""
    pieces = [piece for sentence in _END.split(question.strip()) for piece in _AND.split(sentence) if piece.strip()]
    asked: list[str] = []
    for piece in (_NUMBER.sub("", piece.strip(" ,;")) for piece in pieces):
        if not _has_content(piece):
            continue
        if piece.endswith("?") or not _STATEMENT.match(piece) or len(pieces) == 1:
            asked.append(piece)
    asked = asked or [" ".join(question.split())]
    found = list(dict.fromkeys(part for piece in asked for part in (*_sides(piece), _as_sentence(piece))))
    return [*found[: MOST_PARTS - 1], *([" ".join(found[MOST_PARTS - 1 :])] if len(found) >= MOST_PARTS else [])]


def _as_sentence(piece: str) -> str:
    end = "?" if re.match(rf"{_OPENER}\b", piece, re.IGNORECASE) and piece[-1] not in ".?!" else ""
    return f"{piece[:1].upper()}{piece[1:]}{end}"


def _sides(question: str) -> list[str]:
    found = _BETWEEN.search(question.rstrip("?!. "))
    if found is None:
        return []
    one, other = [side.strip() for side in found.groups() if side]
    if "-" in one and len(one.split()) == 1:  # "ground-source and air-source heat pumps"
        one = " ".join([one, *other.split()[1:]])
    asked = "What is {}?", "What is known about {}?"
    return [asked[_ARTICLE.match(side) is None].format(side) for side in (one, other) if content(side)]


def refers_back(question: str) -> bool:
    """Whether a question is about something that was said before."""
    return _BACK.search(question) is not None or (len(content(question)) < 2 and not _WHAT_IS.match(question))


def names_nothing(question: str) -> bool:
    """Whether nobody can know what a question is about: "How deep is it?"."""
    return _BACK.search(question) is not None and not any(word not in _MEASURES for word in content(question))
