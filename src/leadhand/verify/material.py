"""What a judge is shown besides the claims: what was found out, by key, and the calls that were made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leadhand.core.artifact import BLOB_KEY, blob_of
from leadhand.core.outcome import FlowAnswer, may_be_used, source_numbers
from leadhand.core.relations import approval_note, not_allowed
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import Effect
from leadhand.core.value import Json, compact_json, is_object, texts_in
from leadhand.core.work_result import Claim, summary_of

LONGEST_ERROR = 300
"""Characters of the error of a failed call."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """``evidence`` is what was found out, by key, as JSON; large data of it is a reference. ``keys`` are the keys of
    the evidence that an id of a citation refers to, ``addresses`` those of the sources, ``calls`` the run's calls,
    ``gaps`` what is known to be missing.
    """

    evidence: Mapping[str, Json] = field(default_factory=dict[str, Json])
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    addresses: frozenset[str] = frozenset()
    calls: tuple[Json, ...] = ()
    gaps: tuple[Json, ...] = ()

    def citable(self) -> dict[str, str | None]:
        """Return the texts that an answer can cite, by the id that cites them; None for those that the log only refers
        to."""
        return {
            id_: None if BLOB_KEY in compact_json(found) else "\n".join(texts_in(found))
            for id_, found in ((id_, [self.evidence[key] for key in keys]) for id_, keys in self.keys.items())
        }

    def cited(self, claim: Claim) -> list[str]:
        """Return the keys of the evidence that a claim cites."""
        return list(dict.fromkeys(key for id_ in claim.cites for key in self.keys.get(id_, ())))


Facts = dict[str, tuple[StepState, dict[str, Json]]]
"""What results show, by step, with the state of the step from which it follows."""


def of_results(state: RunState, results: Sequence[StepState], answer: FlowAnswer, known: Facts) -> Material:
    """Return the material for an answer that rests on some results: these, and whatever else the run has found out.

    ``known`` is what results show, as far as it was found out for the same answer; what is new is added. What a worker
    wrote that is the answer itself, as text or as data, does not count as evidence for it.
    """
    every = {each.key: each for each in results}
    for key, each in state.steps.items():
        if may_be_used(each) and (each.step.parent is not None or any(call.ok for call in each.made)):
            every.setdefault(key, each)
    delegates = {tool.name for tool in state.definition.tools if tool.delegate}
    for key, each in every.items():
        if key not in known or known[key][0] is not each:
            known[key] = each, _facts(state, each, answer, delegates)
    evidence: dict[str, Json] = {key: facts for key in every if (facts := known[key][1])}
    numbers = source_numbers(results)
    keys: dict[str, tuple[str, ...]] = {}
    for each in results:
        for source in source_numbers([each]):
            at = str(numbers[source])
            keys[at] = (*keys.get(at, ()), *([each.key] if each.key in evidence else []))
    addresses = frozenset(url for _, url in numbers)
    return Material(
        evidence=evidence | earlier_answer(state), keys=keys, addresses=addresses, calls=tuple(calls_of(state))
    )


def earlier_answer(state: RunState) -> dict[str, Json]:
    """Return the answer that this run follows up: only what an answer says of it can be compared with it."""
    earlier = state.definition.follows
    return {} if earlier is None else {"earlier answer": {"asked": earlier.request, "written": earlier.answer}}


def found_out(state: RunState) -> bool:
    """Whether there is something to judge: a result of a tool or of a function of the flow, or a tool with an effect
    that the run could call."""
    done = (
        each.by or (each.ok and each.step.kind == "do") or any(call.ok for call in each.made)
        for each in state.steps.values()
    )
    return any(tool.acts for tool in state.definition.tools) or any(done)


def _facts(state: RunState, result: StepState, answer: FlowAnswer, delegates: Collection[str]) -> dict[str, Json]:
    """Return what a result shows: what its tools returned, what it was given, and what its worker wrote from it."""
    data, given = result.data, result.step
    if data is None:
        return {}
    calls = [call for call in result.made if call.ok and call.tool not in delegates]
    said = list(dict.fromkeys(call.said for call in calls if call.said))
    is_code = (worker := state.worker(given.worker)) is not None and worker.loop == "code"
    of_a_flow = given.kind == "ask" and given.counts and not given.final
    was_asked = bool(calls or given.subtask or given.parent or of_a_flow) and not result.by and not is_code
    written, known = data.summary if result.value is None else result.value, (*said, answer.text, summary_of(data.raw))
    is_new = data.summary not in known and written != answer.value
    facts: dict[str, Json] = {
        "name": given.name,
        "called": [{"tool": call.tool, "args": call.args} for call in calls],
        "said": said,
        "given": given.input if given.parent is not None else None,
        "written": written if was_asked and not data.is_cut and is_new else None,
        "sample": data.sample,
    }
    shown = {name: fact for name, fact in facts.items() if fact}
    if calls or result.by or (is_code and data.summary != answer.text):
        shown |= _returned(state, result) if calls else {"returned": written}
    return shown if shown.keys() - {"name", "sample"} else {}


def _returned(state: RunState, result: StepState) -> dict[str, Json]:
    """Return what the calls of a result returned, and what they read of the files and todos of workers, without the
    texts of other workers: these have their own entries."""
    raw: Json = result.data.raw if result.data is not None else None
    made = [call for call in result.made if call.ok]
    read = {call.call_id for call in made if (tool := state.tools.get(call.tool)) and tool.reads_workers}
    if len(made) < 2 or not is_object(raw) or blob_of(raw):
        returned, own = (None, raw) if len(read) == len(made) else (raw, sorted(read))
    else:
        asked = {call_id for call_id in raw if call_id in state.steps}  # its first child has the id of the call
        returned = {call_id: each for call_id, each in raw.items() if call_id not in asked | read}
        own = {call_id: each for call_id, each in raw.items() if call_id in read - asked}
    facts = {"returned": returned, "read": own}
    return {name: fact for name, fact in facts.items() if fact} if own else {"returned": returned}


def calls_of(state: RunState) -> Iterator[Json]:
    """Yield the calls of a run: those with an effect and those that failed with their arguments, the others without;
    those that a person did not allow; and the functions of a flow, whose effects nobody knows."""
    for step in state.steps.values():
        for call in step.made:
            ok = call.ok
            facts: dict[str, Any] = {"tool": call.tool, "effect": call.effect.value, "ok": ok}
            if not ok or call.effect is not Effect.PURE:
                facts = {**facts, "args": call.args, **({} if ok else {"error": call.error[:LONGEST_ERROR]})}
                facts |= {"approval": note} if (note := approval_note(state, call)) else {}
            yield facts
        if step.step.kind == "do" and step.closed:
            yield {"tool": step.step.name, "effect": "unknown", "ok": step.ok}
    yield from (
        {**each, "effect": state.tools[each["tool"]].called_with(each["args"]).effect} for each in not_allowed(state)
    )
