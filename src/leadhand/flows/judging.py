"""Rounds of judging: requests to a judge about the claims of a text, what they say, and the judgement that follows.

A claim is contradicted only if two rounds say so. Every flow has its answers judged in such rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from leadhand.core.blob import BLOB_KEY, blob_of
from leadhand.core.judgement import Claim, ClaimVerdict, Doubt, JudgedClaim, Judgement
from leadhand.core.state import RunState
from leadhand.core.value import Json, compact_json, list_of, object_of, text_of
from leadhand.flows.facts import clarified_request
from leadhand.verify.exact import problems_of
from leadhand.verify.judge import JUDGE, MissingPart, Piece, checked_reply, judge_facts
from leadhand.verify.material import Material

from .context_budget import context_budget, fitting, grouped, tokens
from .facts import today

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


Record = Mapping[Key, Entry]
"""What one round of requests says of the claims that were judged in it."""


class Round(NamedTuple):
    """What the requests to a judge about some claims say."""

    record: Record = MappingProxyType({})
    missing: Sequence[MissingPart] = ()
    judged_by: str | None = None


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


def room_beside(state: RunState, material: Material) -> int:
    """Return the tokens of claims and evidence in one request to a judge."""
    return _room(state) - tokens([_calls(state, material), _context(state, material)])


def _context(state: RunState, material: Material) -> dict[str, Json]:
    """Return what helps to understand claims: the date, what the tools that were called do, and the known gaps."""
    called = dict.fromkeys(call.tool for each in state.steps.values() for call in each.made if call.ok)
    tools = ((name, state.tools[name].description[:LONGEST_DESCRIPTION]) for name in called if name in state.tools)
    share = _room(state) // 8
    found = {**today(state), "tools": dict(fitting(tools, share)), "gaps": fitting(material.gaps, share)}
    return {name: fact for name, fact in found.items() if fact}


def _calls(state: RunState, material: Material) -> list[Json]:
    return calls_shown(material.calls, _room(state) // 4)


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
    return [(each, _entry(keys[each.n], records) or Entry(ClaimVerdict.NOT_CHECKED)) for each in claims]


def contradictions(claims: Sequence[Claim], records: Sequence[Record]) -> list[Doubt]:
    """Return why claims are contradicted, as the last round says that judged them."""
    doubts = (doubt for _, entry in verdicts_of(claims, records) for doubt in entry.doubts)
    return [each for each in doubts if each.verdict is ClaimVerdict.CONTRADICTED]


def _entry(key: Key, records: Sequence[Record]) -> Entry | None:
    """Return what the last round says that judged a claim, of rounds that failed only if none did; None without any."""
    said = [each[key] for each in reversed(records) if key in each]
    return next((each for each in said if each.verdict is not ClaimVerdict.NOT_CHECKED), next(iter(said), None))


def is_unsettled(key: Key, records: Sequence[Record]) -> bool:
    entry = _entry(key, records)
    return entry is None or (entry.verdict is ClaimVerdict.CONTRADICTED and _times(key, records) == 1)


def _times(key: Key, records: Sequence[Record]) -> int:
    """Return how many rounds contradict a claim."""
    return sum(key in each and each[key].verdict is ClaimVerdict.CONTRADICTED for each in records)


def judgement_of(
    claims: Sequence[Claim], records: Sequence[Record], judged_by: str | None, material: Material | None
) -> Judgement:
    """Return the judgement of the claims of an answer, from what the rounds say and the exact checks find.

    A claim is contradicted if two rounds say so, else it is unconfirmed. Without ``material``, nothing is compared.
    """
    citable, keys = {} if material is None else material.citable(), keys_of(claims)
    judged: list[JudgedClaim] = []
    doubts: list[Doubt] = []
    for claim, (verdict, said) in verdicts_of(claims, records):
        problems = problems_of(claim, citable, material.addresses) if material is not None else []
        twice = verdict is ClaimVerdict.CONTRADICTED and _times(keys[claim.n], records) > 1
        if not twice and (problems or verdict is ClaimVerdict.CONTRADICTED):
            verdict = ClaimVerdict.UNCONFIRMED
        doubts += [each.evolve(n=claim.n, verdict=each.verdict if twice else verdict) for each in said]
        if problems:
            why, doubtful = " ".join(problems), ClaimVerdict.UNCONFIRMED
            doubts.append(Doubt(n=claim.n, claim=claim.text, part=claim.text, verdict=doubtful, why=why))
        judged.append(JudgedClaim(**dict(claim), verdict=verdict))
    return Judgement(claims=tuple(judged), doubts=tuple(doubts), judged_by=judged_by)


def judge_brief(
    state: RunState, given: Mapping[str, Any], claims: Sequence[Claim], material: Material
) -> dict[str, Any]:
    """Return the request of a step that judges, from its input."""
    pieces = [Piece(*each) for each in given["evidence"]]
    chosen, calls = _chosen(given, claims), _calls(state, material)
    facts = judge_facts(chosen, pieces, material, clarified_request(state), calls)
    context, answer = _context(state, material), "\n".join(f"{each.path} {each.text}".lstrip() for each in claims)
    if len(chosen) < len(claims) and tokens([facts, context, answer]) <= context_budget(state, JUDGE):
        context["answer"] = answer
    return {**facts, "context": context}


def judge_reply(
    state: RunState, given: Mapping[str, Any], claims: Sequence[Claim], value: Json, brief: Mapping[str, Any]
) -> Json:
    """Return what is recorded of the reply of a judge: what it is worth, and who judged."""
    findings = checked_reply(value, _chosen(given, claims), brief["evidence"], clarified_request(state))
    role = state.worker(JUDGE)
    named = text_of(object_of(value).get("judged_by")) if role is not None and role.loop == "code" else ""
    judged_by = named or state.definition.model_of(role)
    return {"findings": findings.model_dump(mode="json"), "judged_by": judged_by}


def _chosen(given: Mapping[str, Any], claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims that a step judges."""
    wanted = frozenset(given["claims"])
    return [each for each in claims if each.n in wanted]
