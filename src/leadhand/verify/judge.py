"""The judge of an answer: its workers, what it is asked, in shards that fit its window, and what its replies are worth.

A judge says what each claim rests on. Its words count only as far as code can check them: a contradiction needs the
words of the claim and a quotation of the evidence, and a missing part quotes the request.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.value import Json, Value, compact_json, list_of, object_of, text_of, texts_in
from leadhand.core.work_result import DOUBTED, Check, Claim, ClaimVerdict, Doubt
from leadhand.core.worker import Worker

from .exact import plain
from .material import Material

OVERLAP = 200
"""Bytes that two parts of a piece of evidence have in common, so that a figure at their border is whole in one."""
_BEST = (
    ClaimVerdict.CONFIRMED,
    ClaimVerdict.DERIVED,
    ClaimVerdict.CONTRADICTED,
    ClaimVerdict.OWN_WORDS,
    ClaimVerdict.NOT_CHECKED,
    ClaimVerdict.UNCONFIRMED,
)
"""Of the verdicts on a claim by parts of the evidence, the first of these counts: unconfirmed is only what all say."""
_SIGNS = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|(?<=\w)-|-(?!\d)|(?<![^\W_])_+|_+(?![^\W_])|[^\w.,-]")
"""What is not a part of a word or a number."""
_BESIDE = "[0-9a-z\u00df-\u024f\u0370-\u052f.,-]"  # a part of a word or number; other scripts have no spaces
_TEXT = {"type": "string"}
_V = TypeVar("_V", bound=Value)

JUDGE, CONFIRM = "judge", "confirm"
"""The worker that judges an answer, and the one that confirms what a judge says is missing."""
REPLY: dict[str, Any] = {"type": "object", "properties": {"verdicts": {"type": "object"}}, "required": ["verdicts"]}
"""The JSON schema that a reply of a judge has to match. A claim whose verdict is none of the five is not checked."""


def list_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return the JSON schema of a list of objects."""
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": list(required)}}


_ORDERED: dict[str, Any] = {"tool": _TEXT, "args": {"type": "object"}}
_MISSING = list_schema({"n": {"type": "integer"}, "name": _TEXT, "reason": _TEXT, **_ORDERED}, "n", "reason")
CONFIRMATION: dict[str, Any] = {"type": "object", "properties": {"missing": _MISSING}, "required": ["missing"]}
"""What the lead replies about missing parts: those that are missing by number, with names, reasons and calls."""


def judging_workers(check: Check, others: Iterable[Worker], *, verifier: bool) -> tuple[Worker, ...]:
    """Return the workers that judge the answer of a run; with a ``verifier``, its code does.

    Raises UsageError if one of the ``others`` has the same name.
    """
    if check != "judge":
        return ()
    if taken := {worker.name for worker in others} & {JUDGE, CONFIRM}:
        name = min(taken)
        raise UsageError(
            f"a worker of this run is named {name}, which is the name of a worker that checks answers",
            "Rename that worker, or use another check than judge.",
        )
    judge = Worker(name=JUDGE, instructions=instructions(JUDGE), output=REPLY, model_role="review")
    confirm = Worker(name=CONFIRM, instructions=instructions(CONFIRM), output=CONFIRMATION, model_role="plan")
    return judge.evolve(loop="code" if verifier else "reply"), confirm.evolve(loop="reply")


@cache
def instructions(name: str) -> str:
    """Return the built-in instructions with this name: judge, confirm or correct."""
    return (files("leadhand.verify") / "prompts" / f"{name}.md").read_text("utf-8").strip()


def reply_schema(numbers: Iterable[int]) -> dict[str, Any]:
    """Return the JSON schema that a judge is asked with: a verdict for each claim."""
    verdict: dict[str, Any] = {"enum": [each.value for each in ClaimVerdict if each is not ClaimVerdict.NOT_CHECKED]}
    verdicts = {str(n): verdict for n in numbers}
    doubt = {"claim": {"type": "integer"}, "part": _TEXT, "why": _TEXT, "evidence": _TEXT, "quote": _TEXT}
    missing = {"part": _TEXT, "request": _TEXT}
    admitted = {"admitted": {"type": "boolean"}}
    return {
        "type": "object",
        "properties": {
            "verdicts": {"type": "object", "properties": verdicts, "required": [*verdicts]},
            "doubts": list_schema({**doubt, "action": {"type": "boolean"}}, "claim", "part", "why"),
            "missing": list_schema({**missing, **admitted}, *missing),
        },
        "required": ["verdicts", "doubts", "missing"],
    }


class ClaimDoubt(Value):
    """Why a judge doubts a claim: ``part`` are words of the claim, ``quote`` is what ``evidence`` says instead.

    ``action``: the claim says that something was done, and no call did it.
    """

    model_config = ConfigDict(extra="ignore")

    claim: int
    part: str = ""
    why: str = ""
    evidence: str | None = None
    quote: str | None = None
    action: bool = False


class MissingPart(Value):
    """A part of the request that an answer lacks: the words that ask for it, or why it was not done as it says.

    ``admitted``: the answer itself says that it could not be found or done.
    """

    model_config = ConfigDict(extra="ignore")

    part: str = Field(min_length=1)
    request: str = Field(min_length=1)
    undone: str = Field(default="", exclude_if=operator.not_)
    admitted: bool = Field(default=False, exclude_if=operator.not_)


class Verdicts(Value):
    """The reply of a judge: a verdict for each claim by its number, the doubts, and what the answer leaves out."""

    verdicts: dict[int, ClaimVerdict] = {}
    doubts: tuple[ClaimDoubt, ...] = ()
    missing: tuple[MissingPart, ...] = ()


class Verifier(Protocol):
    """Judges the claims of answers in place of a model: ``Leadhand(verifier=…)``.

    What it says counts as far as what a model says: a contradiction needs words of the claim and a quotation of the
    evidence, or an action that no call did. Answers name its ``name``, or its class, as who judged them.
    """

    async def verify(
        self, claims: Sequence[Claim], evidence: Mapping[str, Json], calls: Sequence[Json], request: str
    ) -> Verdicts:
        """Return the verdicts on ``claims``, whose ``cites`` are keys of the ``evidence``.

        ``evidence`` is what was found out, by key: ``{"returned": …}`` of tools, ``{"passage": …}`` of sources.
        ``calls`` are the calls that were made, and ``request`` is what was asked. Several answers may be judged at
        once, each on a thread with an event loop of its own. If this raises, the run records why, and the claims are
        not checked.
        """
        ...


# --- what a judge is asked -------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A piece of the evidence under one key: the ``part``-th of ``of`` parts."""

    key: str
    part: int = 0
    of: int = 1


def judge_facts(claims: Sequence[Claim], pieces: Iterable[Piece], material: Material, request: str) -> dict[str, Any]:
    """Return the request to a judge as one JSON object, without the calls. Evidence in parts says which part it is."""
    found = material.evidence
    shown = (each.evolve(cites=tuple(material.cited(each)), start=None, end=None) for each in claims)
    return {
        "request": request,
        "claims": [each.model_dump(mode="json", exclude={"verdict"}) for each in shown],
        "evidence": {k: found[k] if of == 1 else {**object_of(found[k]), PART: [part, of]} for k, part, of in pieces},
    }


PART = "part_of_data"
"""In a piece of evidence that is too large for one request: which part, from 0, of how many."""
SHORT = 600
"""Characters below which a fact of a piece of evidence, such as its calls, is shown with each of its parts."""


def cut_to_part(facts: Json) -> Json:
    """Return the part that a piece of evidence says it is, once its data is loaded."""
    whole = object_of(facts)
    if PART not in whole:
        return facts
    part, of = whole[PART]
    facts = {name: fact for name, fact in whole.items() if name != PART}
    data = compact_json(facts).encode(errors="replace")
    length = -(-len(data) // of)
    text = data[max(part * length - OVERLAP, 0) : (part + 1) * length].decode(errors="ignore")
    head = {name: fact for name, fact in facts.items() if len(compact_json(fact)) < SHORT}
    return {**head, "part": f"{part + 1} of {of}", "returned": text}


# --- what a reply is worth -------------------------------------------------------------------------------------------


class Findings(Value):
    """What a reply is worth: verdicts by the number of the claim, doubts, and missing parts that quote the request."""

    verdicts: dict[int, ClaimVerdict] = {}
    doubts: tuple[Doubt, ...] = ()
    missing: tuple[MissingPart, ...] = ()


def checked_reply(value: Json, claims: Sequence[Claim], evidence: Mapping[str, Json], request: str) -> Findings:
    """Return what a reply says of ``claims``, as far as ``evidence`` confirms it.

    A claim without one of the five verdicts is not checked. A contradiction without the words of the claim and a
    quotation of the evidence that says something else (or without an action that no call did) is unconfirmed. Such an
    action may be missing.
    """
    reply = object_of(value)
    said, reasons = object_of(reply.get("verdicts")), list(_valid(ClaimDoubt, reply.get("doubts")))
    verdicts: dict[int, ClaimVerdict] = {}
    doubts, undone = list[Doubt](), list[ClaimDoubt]()
    for claim in claims:
        verdict = text_of(said.get(str(claim.n))).strip().lower()
        verdict = ClaimVerdict(verdict) if verdict in _BEST else ClaimVerdict.NOT_CHECKED
        if verdict in DOUBTED:
            own = [each for each in reasons if each.claim == claim.n] or [ClaimDoubt(claim=claim.n)]
            proves = verdict is ClaimVerdict.CONTRADICTED
            found = [_doubt(claim, each, evidence, contradicts=proves) for each in own]
            verdict = max((each.verdict for each in found), key=DOUBTED.index)
            doubts += found
            undone += [each for each in own if proves and each.action and _is_in(each.part, _says(claim))]
        verdicts[claim.n] = verdict
    missing = [each for each in _valid(MissingPart, reply.get("missing")) if _is_in(each.request, request)]
    undone = undone if request else []
    missing += [MissingPart(part=each.part, request=request, undone=each.why or each.part) for each in undone]
    return Findings(verdicts=verdicts, doubts=tuple(doubts), missing=tuple(missing))


def _doubt(claim: Claim, reason: ClaimDoubt, evidence: Mapping[str, Json], *, contradicts: bool) -> Doubt:
    named, quoted = _is_in(reason.part, _says(claim)), _holds(evidence, reason)
    agrees = _is_in(_one_comma(reason.quote or ""), _one_comma(reason.part))  # the claim says the same
    proven = contradicts and named and (reason.action or (quoted and not agrees))
    return Doubt(
        n=claim.n,
        claim=claim.text,
        path=claim.path,
        part=reason.part if named else claim.text,
        verdict=ClaimVerdict.CONTRADICTED if proven else ClaimVerdict.UNCONFIRMED,
        why=reason.why,
        quote=reason.quote if quoted else None,
        evidence=reason.evidence if quoted else None,
    )


def _one_comma(text: str) -> str:
    """Return a text in which 7,6 and 7.6 are the same: languages write numbers in either way."""
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def _says(claim: Claim) -> str:
    return f"{claim.header}\n{claim.text}" if claim.header else claim.text


def _is_in(part: str, text: str) -> bool:
    """Whether a text has these words and numbers, whole ones: JSON and Markdown write them with other signs."""
    wanted, words = (plain(part), plain(text)) if not _bare(part) else (_bare(part), _bare(text))
    found = re.search(rf"(?<!{_BESIDE}){re.escape(wanted)}(?!{_BESIDE})", words)
    return bool(wanted) and found is not None


def _bare(text: str) -> str:
    return " ".join(_SIGNS.sub(" ", plain(text)).split())


def _holds(evidence: Mapping[str, Json], reason: ClaimDoubt) -> bool:
    """Whether the quotation of a reason is in the evidence that it names, as it was shown or as text."""
    if reason.evidence is None or reason.evidence not in evidence:
        return False
    facts = evidence[reason.evidence]
    return any(_is_in(reason.quote or "", text) for text in (compact_json(facts), "\n".join(texts_in(facts))))


def _valid(shape: type[_V], values: Json) -> Iterator[_V]:
    """Yield the values that have a shape; a null is a field that was left out."""
    for value in list_of(values):
        try:
            yield shape.model_validate({name: each for name, each in object_of(value).items() if each is not None})
        except ValidationError:
            continue


def merged(found: Sequence[Findings]) -> Findings:
    """Return what several requests found together: of each claim, the best verdict that any part of the evidence
    gives. A part is missing if all of them say so, since each may have seen other claims."""
    verdicts: dict[int, ClaimVerdict] = {}
    doubts: dict[int, list[Doubt]] = {}
    for each in found:
        for n, verdict in each.verdicts.items():
            if n not in verdicts or _BEST.index(verdict) < _BEST.index(verdicts[n]):
                verdicts[n] = verdict
                doubts[n] = [doubt for doubt in each.doubts if doubt.n == n]
    named = [part for each in found[:1] for part in each.missing]
    missing = [part for part in named if all(any(_same(part, other) for other in each.missing) for each in found)]
    return Findings(verdicts=verdicts, doubts=tuple(chain(*doubts.values())), missing=tuple(missing))


def _same(part: MissingPart, other: MissingPart) -> bool:
    return _is_in(part.request, other.request) or _is_in(other.request, part.request)
