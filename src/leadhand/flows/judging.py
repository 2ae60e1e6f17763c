"""Rounds of judging: requests to a judge about the claims of a text, what they say, and the judgement that follows.

A claim is contradicted only if two rounds say so. Every flow has its answers judged in such rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from leadhand.core.artifact import BLOB_KEY, blob_of
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState, StepState
from leadhand.core.value import DEEPEST, Json, compact_json, list_of, object_of, plain_json, text_of
from leadhand.core.work_result import Claim, ClaimVerdict, Doubt, Judgement
from leadhand.core.worker import with_more
from leadhand.verify.exact import problems_of
from leadhand.verify.judge import (
    JUDGE,
    Findings,
    MissingPart,
    Piece,
    Verifier,
    checked_reply,
    judge_facts,
    merged,
    reply_schema,
)
from leadhand.verify.material import Material

from .facts import clarified_request, context_budget, fitting, grouped, today, tokens
from .flow import Code, Desk
from .flow import Given as Returned
from .seam.context import FlowContext
from .seam.pending import Details
from .seam.results import Result

LONGEST_DESCRIPTION = 500
"""Characters of the description of a tool."""
MOST_CLAIMS = 60
"""Claims in one request to a judge."""
MOST_REQUESTS = 100
"""Requests of one round. Claims that would need more, because the window is small for the evidence, are not checked."""

Key = tuple[str, str, tuple[str, ...], int]
"""What makes a claim the same one in a corrected text: what it says, and which of those that say the same."""


class Entry(NamedTuple):
    """What one request to a judge says of one claim."""

    verdict: ClaimVerdict
    doubts: Sequence[Doubt] = ()


Materials = Callable[[RunState], Material]
"""Returns what claims are judged beside."""
Record = Mapping[Key, Entry]
"""What one round of requests says of the claims that were judged in it."""


class Round(NamedTuple):
    """What requests to a judge about the claims of a text say of them, and of what the text leaves out."""

    record: Record = MappingProxyType({})
    missing: Sequence[MissingPart] = ()
    judged_by: str | None = None


async def judge_round(
    run: FlowContext,
    name: str,
    claims: Sequence[Claim],
    material: Materials,
    records: Sequence[Record] = (),
    *,
    of: str | int = "",
) -> Round:
    """Judge those of the ``claims`` of a text that no earlier round, of which ``records`` tell, has judged, or that was
    contradicted once; ``name`` is that of the round, ``of`` names the text."""
    state, keys, beside = run.state, keys_of(claims), material(run.state)
    once = {each.n for each in contradictions(claims, records) if _times(keys[each.n], records) == 1}
    new = [each for each in claims if each.n in once or not _said(keys[each.n], records)]
    shards = list(shards_of(new, beside, _room(state) - tokens(_around(state, beside))))
    left = {n for numbers, _ in shards[MOST_REQUESTS:] for n in numbers}  # only a part of their evidence would be shown
    kept = [([n for n in numbers if n not in left], pieces) for numbers, pieces in shards[:MOST_REQUESTS]]
    asked = [each for each in kept if each[0]]
    judge = run.worker(JUDGE)
    details = Details(
        judges=name,
        shows=partial(_brief, claims=claims, material=material),
        keeps=partial(_reply, claims=claims),
        code=verifying(run.verifier),
    )
    steps = [
        run.step(
            judge,
            key=f"{name}.{number}",
            input={"of": of, "claims": numbers, "evidence": [[*piece] for piece in pieces]},
            details=replace(
                details,
                title="Judge the claims" if len(asked) == 1 else f"Judge the claims · part {number}",
                schema=reply_schema(numbers),
            ),
            optional=True,
        )
        for number, (numbers, pieces) in enumerate(asked, start=1)
    ]
    replies: list[Result] = await run.gather(steps)
    found, judged_by = [_unchecked(left)] if left else [], None
    for (numbers, _), reply in zip(asked, replies, strict=True):
        said = object_of(reply.value) if reply.ok else {}
        found.append(Findings.model_validate(said["findings"]) if said else _unchecked(numbers))
        if any(each is not ClaimVerdict.NOT_CHECKED for each in found[-1].verdicts.values()):
            judged_by = text_of(said["judged_by"])
    whole = merged(found)
    record = {
        keys[n]: Entry(said, [each for each in whole.doubts if each.n == n]) for n, said in whole.verdicts.items()
    }
    return Round(record, whole.missing, judged_by)


def _unchecked(numbers: Iterable[int]) -> Findings:
    return Findings(verdicts=dict.fromkeys(numbers, ClaimVerdict.NOT_CHECKED))


def _brief(state: RunState, step: StepState, claims: Sequence[Claim], material: Materials) -> dict[str, Any]:
    """Return the request of a step that judges, from its input."""
    pieces = [Piece(*each) for each in step.step.input["evidence"]]
    beside, chosen = material(state), _chosen(step, claims)
    facts = {**judge_facts(chosen, pieces, beside, clarified_request(state)), **_around(state, beside)}
    answer = "\n".join(f"{each.path} {each.text}".lstrip() for each in claims)
    if len(chosen) < len(claims) and tokens([facts, answer]) <= context_budget(state, JUDGE):
        facts["context"]["answer"] = answer
    return facts


def _reply(state: RunState, step: StepState, result: Returned, claims: Sequence[Claim]) -> Json:
    """Return what is recorded of the reply of a judge: what it is worth, and who judged."""
    evidence, request = result.input["evidence"], clarified_request(state)
    findings = checked_reply(result.value, _chosen(step, claims), evidence, request)
    judge = state.worker(JUDGE)
    named = text_of(object_of(result.value).get("judged_by")) if judge is not None and judge.loop == "code" else ""
    return {"findings": findings.model_dump(mode="json"), "judged_by": named or state.definition.model_of(judge)}


def _chosen(step: StepState, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that a step judges."""
    return [each for each in claims if each.n in step.step.input["claims"]]


def keys_of(claims: Sequence[Claim]) -> Mapping[int, Key]:
    """Return what identifies the claims of a text, by their numbers."""
    seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    keys: dict[int, Key] = {}
    for claim in claims:
        says = claim.text, claim.header or claim.path, claim.cites
        seen[says] += 1
        keys[claim.n] = (*says, seen[says])
    return keys


def _room(state: RunState) -> int:
    """Return the tokens of claims, evidence and calls in one request to a judge."""
    budget = context_budget(state, JUDGE)
    return max(budget - tokens(clarified_request(state)), budget // 2)


def _around(state: RunState, material: Material) -> dict[str, Any]:
    """Return what helps to understand claims: the calls, the date, the options of the flow, the instructions of the
    program's own workers, what the tools that were called do, and the known gaps."""
    room = _room(state)
    called = dict.fromkeys(call.tool for each in state.steps.values() for call in each.made if call.ok)
    tools = ((name, state.tools[name].description[:LONGEST_DESCRIPTION]) for name in called if name in state.tools)
    options = dict(fitting(((name, each) for name, each in state.definition.options.items() if each), room // 8))
    gaps = fitting(material.gaps, room // 8)
    given = dict(fitting(_instructions(state).items(), room // 8))
    found = {**today(state), "options": options, "instructions": given, "tools": dict(fitting(tools, room // 8))}
    found["gaps"] = gaps
    context = {name: fact for name, fact in found.items() if fact}
    return {"calls": calls_shown(material.calls, room // 4), "context": context}


def _instructions(state: RunState) -> dict[str, str]:
    """Return the instructions that the program, its project or the run gave the workers of its steps, by worker."""
    found: dict[str, str] = {}
    for step in state.steps.values():
        worker = state.worker(step.step.worker)
        if worker is None or worker.loop == "code" or worker.name in found:
            continue
        own = step.step.instructions or worker.instructions if worker.declared or worker.fingerprint else ""
        if said := with_more(own, worker.name, state.definition.instructions):
            found[worker.name] = said
    return found


def calls_shown(calls: Iterable[Json], most: int) -> list[Json]:
    """Return calls as a judge is shown them: those with arguments while they fit into ``most`` tokens, the others by
    tool with their number."""
    shown: list[Json] = []
    times: Counter[tuple[str, str, bool]] = Counter()
    for call in calls:
        if "args" in call and (most := most - tokens(call)) >= 0:
            shown.append(call)
        else:
            times[call["tool"], call["effect"], call["ok"]] += 1
    return [*shown, *({"tool": t, "effect": e, "ok": ok, "times": n} for (t, e, ok), n in times.items())]


def shards_of(claims: Sequence[Claim], material: Material, room: int) -> Iterator[tuple[list[int], Sequence[Piece]]]:
    """Yield the requests about some claims, by their numbers, each with at most ``room`` tokens of claims and evidence.

    All evidence goes beside each claim if it fits. If not, claims that cite something get that, and the others get all
    evidence, piece by piece.
    """
    sizes = {key: _size(facts) for key, facts in material.evidence.items()}
    lengths = {each.n: tokens([each.text, each.header, each.path]) for each in claims}
    for group in grouped([(each, lengths[each.n]) for each in claims], room // 2, MOST_CLAIMS):
        left = max(room - sum(lengths[each.n] for each in group), room // 2)
        cited: dict[int, list[str]] = {}
        if sum(sizes.values()) > left:
            cited = {each.n: keys for each in group if (keys := material.cited(each))}
        others = [each.n for each in group if each.n not in cited]
        own = dict.fromkeys(key for keys in cited.values() for key in keys)
        for numbers, keys in (([*cited], own), (others, sizes)):
            if numbers:
                yield from ((numbers, pieces) for pieces in _fitting(keys, sizes, left))


def _fitting(keys: Iterable[str], sizes: Mapping[str, int], room: int) -> Sequence[Sequence[Piece]]:
    """Return the evidence under some keys in groups that fit; what is too large for one is cut into parts, which are
    longer as texts in JSON. Each part is a group of its own."""
    parts = {key: 1 if sizes[key] <= room else -(-4 * sizes[key] // (3 * room)) for key in keys}
    pieces = [(Piece(key, part, of), min(sizes[key], room)) for key, of in parts.items() for part in range(of)]
    return grouped(pieces, room) or [()]


def _size(facts: Json) -> int:
    """Return the tokens of a piece of evidence, with the data to which it refers."""
    written = compact_json(facts)
    referred = _referred(facts) if BLOB_KEY in written else 0
    return (len(written.encode(errors="replace")) + referred) // 3 + 1


def _referred(value: Json) -> int:
    if blob := blob_of(value):
        return blob.size
    return sum(map(_referred, object_of(value).values())) + sum(map(_referred, list_of(value)))


def verdicts_of(claims: Sequence[Claim], records: Sequence[Record]) -> list[tuple[Claim, Entry]]:
    """Return what the last round says that judged each of the claims of a text."""
    keys = keys_of(claims)
    return [(each, [Entry(ClaimVerdict.NOT_CHECKED), *_said(keys[each.n], records)][-1]) for each in claims]


def contradictions(claims: Sequence[Claim], records: Sequence[Record]) -> list[Doubt]:
    """Return why claims are contradicted, as the last round says that judged them."""
    doubts = (doubt for _, entry in verdicts_of(claims, records) for doubt in entry.doubts)
    return [each for each in doubts if each.verdict is ClaimVerdict.CONTRADICTED]


def _said(key: Key, records: Sequence[Record]) -> list[Entry]:
    """Return what the rounds say of a claim: those that failed first, then the others in order."""
    said = (each[key] for each in records if key in each)
    return sorted(said, key=lambda each: each.verdict is not ClaimVerdict.NOT_CHECKED)


def _times(key: Key, records: Sequence[Record]) -> int:
    """Return how many rounds contradict a claim."""
    return sum(each.verdict is ClaimVerdict.CONTRADICTED for each in _said(key, records))


def judgement_of(
    claims: Sequence[Claim], records: Sequence[Record], judged_by: str | None, material: Material | None
) -> Judgement:
    """Return the judgement of the claims of an answer, from what the rounds say and the exact checks find.

    A claim is contradicted if two rounds say so, else it is unconfirmed. Without ``material``, nothing is compared.
    """
    citable, keys = {} if material is None else material.citable(), keys_of(claims)
    judged: list[Claim] = []
    doubts: list[Doubt] = []
    for claim, (verdict, said) in verdicts_of(claims, records):
        problems = problems_of(claim, citable, material.addresses) if material is not None else []
        twice = _times(keys[claim.n], records) > 1 and verdict is ClaimVerdict.CONTRADICTED
        if not twice and (problems or verdict is ClaimVerdict.CONTRADICTED):
            verdict = ClaimVerdict.UNCONFIRMED
        doubts += [each.evolve(n=claim.n, verdict=each.verdict if twice else verdict) for each in said]
        if problems:
            why = " ".join(problems)
            doubts.append(Doubt(n=claim.n, claim=claim.text, part=claim.text, verdict=verdict, why=why))
        judged.append(claim.evolve(verdict=verdict))
    return Judgement(claims=tuple(judged), doubts=tuple(doubts), judged_by=judged_by)


def verifying(verifier: Verifier | None) -> Code:
    """Return the code of a step that judges with a verifier of the user's own."""

    async def verify(desk: Desk) -> Json:
        if verifier is None:
            raise UsageError("this process has no verifier, and the run needs one", "Pass it: Leadhand(verifier=…).")
        brief: Mapping[str, Any] = plain_json({**desk.brief}, 2 * DEEPEST)  # as JSON gives it back, without tuples
        fields = Claim.model_fields
        claims = [Claim.model_validate({k: v for k, v in each.items() if k in fields}) for each in brief["claims"]]
        found = await verifier.verify(claims, brief["evidence"], brief["calls"], brief["request"])
        reply = plain_json(found.model_dump(mode="json"))
        return {**reply, "judged_by": getattr(verifier, "name", "") or type(verifier).__name__}

    return verify
