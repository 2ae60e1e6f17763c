"""The end of every flow: its answer gets the shape that was asked for, and is judged, as further steps of its run.

::

    answer ─▶ shape ─▶ judge ─▶ contradicted? ─▶ the writer corrects it, once ─▶ judge that and what is new again
                                                  something missing? ─▶ the lead confirms it, once ─▶ a gap ─▶ end

The text is delivered as it is in any case, with its doubts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from leadhand.core.errors import FailureClass
from leadhand.core.outcome import FlowAnswer, all_gaps
from leadhand.core.relations import not_allowed
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, compact_json, object_of, objects_of, text_of
from leadhand.core.work_result import Claim, Doubt, Judgement
from leadhand.verify.claims import citations_in, claims_of, claims_of_answer, claims_of_value
from leadhand.verify.judge import CONFIRM, MissingPart, instructions
from leadhand.verify.material import Facts, Material, found_out, of_results

from .facts import clarified_request, context_budget, fitting, today, tokens
from .flow import Given as Returned
from .judging import Record, Round, contradictions, judge_round, judgement_of
from .passages import Numbered, body, of_passages
from .seam.context import FlowContext
from .seam.outcomes import stated, waived
from .seam.pending import Details, Pending
from .seam.results import Result, sha, unfenced
from .shaping import digests_of, results_of, shape_of_answer

CORRECTS = "$corrects"
"""The input of a step that corrects an answer: the digest of what was judged."""
ASK_FOR_IT = "ask for this part again"
ADD_WHAT_HAS_IT = "add a tool or a source that can give it"
MOST_ROUNDS = 3
"""Rounds in which an answer is judged, at most."""


class Judged(NamedTuple):
    """An answer with its judgement, and the parts of the request that it leaves out, as the lead says, too: each with
    what the lead says of it, such as the ``tool`` and the ``args`` of the call that it needs."""

    answer: FlowAnswer
    missing: Sequence[tuple[Gap, Mapping[str, Json]]] = ()


async def close(run: FlowContext, answer: FlowAnswer) -> FlowAnswer:
    """Return the answer of a flow with its shape and its judgement. What it leaves out is a gap."""
    found = await judged(run, await shape_of_answer(run, answer))
    return found.answer._replace(gaps=[*found.answer.gaps, *(gap for gap, _ in found.missing)])


async def judged(run: FlowContext, answer: FlowAnswer, choices: Mapping[str, Json] = MappingProxyType({})) -> Judged:
    """Judge an answer, unless it claims nothing or nothing was found out: have it corrected, and ask what it lacks.

    ``choices`` are the tools with which the lead can order what it lacks.
    """
    if run.state.definition.check == "off" or not _claims_of(answer) or not found_out(run.state):
        return Judged(answer)
    of = sha([answer.text, answer.value, [*(answer.uses or ())]])
    if of not in run.judged:
        run.judged[of] = await _Answering(run, answer, choices).judged()
    found: Judged = run.judged[of]
    said = found.answer
    changed = {name: getattr(said, name) for name in ("text", "value", "sources", "judgement")}
    return found._replace(answer=answer._replace(**changed))


async def judge(run: FlowContext, text: Result | str, uses: Sequence[Result] | None) -> Judgement:
    """Return the judgement of a text, for a flow that asks for it before it returns the text."""
    made = text if isinstance(text, Result) and uses is None else FlowAnswer(str(text), uses=uses)
    found = await judged(run, stated(run.of, made))
    return found.answer.judgement or Judgement()


class _Answering:
    """The judging of one answer: ``of`` is the digest of what is judged."""

    def __init__(self, run: FlowContext, answer: FlowAnswer, choices: Mapping[str, Json]) -> None:
        self._run, self._answer, self._choices = run, answer, choices
        self._results = results_of(run.state, answer)
        self._facts: dict[str, Facts] = {}
        self.of = sha([answer.text, answer.value, digests_of(self._results)])[:12]

    def _material(self, state: RunState) -> Material:
        if self._answer.passages is not None:
            found = of_passages(state, self._answer.passages)
        else:
            results = [state.steps[each.key] for each in self._results]
            found = of_results(state, results, self._answer, self._facts.setdefault(self._answer.text, {}))
        answer = self._answer._replace(waived=waived(self._run.of, state))
        gaps = tuple({"what": each.name, "reason": each.reason} for each in all_gaps(state, answer))
        return replace(found, gaps=gaps)

    async def judged(self) -> Judged:
        """Return the answer, corrected once if it was contradicted, with its judgement and what it lacks."""
        run, records, judged_by = self._run, list[Record](), None
        missing, undone, seen = list[MissingPart](), dict[str, MissingPart](), None
        for number in range(MOST_ROUNDS if run.state.definition.check == "judge" else 0):
            name = f"judge-answer-{self.of}" + (f"-again-{number}" if number else "")
            said = await judge_round(run, name, _claims_of(self._answer), self._material, records, of=self.of)
            if not said.record:
                break
            records.append(said.record)
            judged_by = said.judged_by or judged_by
            undone |= {each.part: each for each in said.missing if each.undone}
            if seen is not self._answer:  # of the text as it is now
                missing, seen = [each for each in said.missing if not each.undone], self._answer
            if not number:
                await self._correct(said)
        lacks = [*missing, *undone.values()]
        found = Judged(self._answer, await self._confirmed(lacks) if lacks else ())
        answer = found.answer
        judgement = judgement_of(_claims_of(answer), records, judged_by, self._material(run.state))
        if (before := answer.judgement) is not None:
            claims, doubts = (*before.claims, *judgement.claims), (*before.doubts, *judgement.doubts)
            judgement = judgement.evolve(claims=claims, doubts=doubts, judged_by=before.judged_by or judged_by)
        return found._replace(answer=answer._replace(judgement=judgement))

    # --- corrections and missing parts -------------------------------------------------------------------------------

    async def _correct(self, first: Round) -> None:
        """Have the text and the value of the answer corrected, each once if the round contradicts it.

        A correction that leaves out claims which nobody contradicts is not used.
        """
        text, value, claims = self._answer.text, self._answer.value, _claims_of(self._answer)
        own = {"text": [each for each in claims if not each.path], "value": [each for each in claims if each.path]}
        wrong = contradictions(claims, [first.record])
        steps: dict[str, Any] = {}
        for part, its in own.items():
            problems = [each for each in wrong if any(each.n == claim.n for claim in its)]
            if problems and (writer := self._writer_of(part)):
                steps[part] = self._correction(part, writer, problems)
        replies: list[Result] = await self._run.gather(steps.values())
        doubted = {each.n for each in wrong}
        for part, reply in zip(steps, replies, strict=True):
            after = claims_of_value(reply.value) if part == "value" else claims_of(reply.text)
            if not reply.ok or not after:
                continue
            if _leaves_out(own[part], doubted, after):
                self._run.note(f"The correction of the {part} left out what nobody contradicts, so it was not used.")
            elif part == "value":
                text = compact_json(reply.value) if text == compact_json(value) else text
                value = reply.value
            else:
                text = reply.text
        if (text, value) != (self._answer.text, self._answer.value):
            self._answer = _numbered(self._answer._replace(text=text, value=value))

    async def _confirmed(self, parts: Sequence[MissingPart]) -> list[tuple[Gap, Mapping[str, Json]]]:
        """Return those of the parts that the lead says are missing, too."""
        said = await self._confirmation(parts)
        numbered, missing = dict(enumerate(parts, start=1)), list[tuple[Gap, Mapping[str, Json]]]()
        for each in objects_of(object_of(said.value).get("missing")) if said.ok else []:
            if (part := numbered.get(each.get("n", 0))) is not None:
                name, reason = text_of(each.get("name")) or part.part, text_of(each.get("reason"))
                in_vain = part.admitted and (each.get("tried") or not each.get("tool"))
                how = ADD_WHAT_HAS_IT if in_vain else ASK_FOR_IT
                gap = Gap(name=name, class_=FailureClass.INSUFFICIENT, reason=reason, next_action=how)
                missing.append((gap, {**each, "admitted": in_vain}))
        return missing

    def _correction(self, part: str, writer: str, problems: Sequence[Doubt]) -> Pending[Result]:
        written, fits = (self._answer.value, self._run.fits) if part == "value" else (self._answer.text, None)
        stated = [_problem(each) for each in problems]

        def shows(state: RunState, step: StepState) -> dict[str, Any]:
            facts = {"request": clarified_request(state), **today(state), "answer": written}
            room = context_budget(state, step.step.worker) - tokens(facts)
            facts["problems"] = fitting(stated, room) or stated[:1]
            material, named = self._material(state), {each.get("evidence") for each in facts["problems"]}
            known = [material.evidence, {key: each for key, each in material.evidence.items() if key in named}]
            for evidence in known:
                more = {"evidence": evidence, "calls": [*material.calls]}
                if tokens([facts["problems"], more]) <= room:
                    return {**facts, **more}
            return facts

        def checks(_state: RunState, _step: StepState, result: Returned) -> Sequence[str]:
            return fits(result.value) if fits is not None else []

        given = {CORRECTS: self.of, "problems": stated}
        details = Details(title="Correct the answer", instructions=instructions("correct"), shows=shows, checks=checks)
        return self._asked(writer, f"correct-{self.of}-{part}", given, details, tools=())

    def _confirmation(self, parts: Sequence[MissingPart]) -> Pending[Result]:
        missing = [
            {"n": n, **each.model_dump(mode="json", exclude={"request"} if each.undone else set())}
            for n, each in enumerate(parts, start=1)
        ]

        def shows(state: RunState, _: StepState) -> dict[str, Any]:
            facts = {"request": clarified_request(state), **today(state), "answer": self._answer.text}
            material = self._material(state)
            known = {"calls": [*material.calls], "gaps": [*material.gaps], "missing": missing}
            return {**self._choices, **facts, **known}

        details = Details(title="Confirm what is missing", shows=shows, keeps=_confirmed_parts)
        return self._asked(CONFIRM, CONFIRM, {"of": self.of, "missing": missing}, details)

    def _asked(
        self, worker: str, key: str, given: dict[str, Any], details: Details, tools: Sequence[str] | None = None
    ) -> Pending[Result]:
        recorded = self._run.worker(worker)
        return self._run.step(recorded, key=key, input=given, details=details, tools=tools, optional=True, final=True)

    def _writer_of(self, part: str) -> str:
        """Return the worker that wrote the text of the answer, or gave its value; "" if code did, or if the text is too
        long to repeat."""
        state, answer, of_value = self._run.state, self._answer, part == "value"
        is_long = tokens(answer.text) > state.definition.limits.max_output_tokens
        if not of_value and (answer.writer is None or is_long):
            return ""
        if known := state.definition.shape if of_value else answer.writer:
            return known
        for each in state.steps.values():
            text = unfenced(each.data.summary) if each.data is not None and each.value is None else None
            if each.ok and (each.value == answer.value if of_value else text == answer.text):
                worker = state.worker(each.step.worker)
                return "" if worker is None or worker.loop == "code" else each.step.worker
        return ""


def _leaves_out(before: Sequence[Claim], wrong: Container[int], after: Sequence[Claim]) -> bool:
    """Whether a correction has fewer claims in the place of those that nobody contradicts."""
    old, right = (Counter(each.text for each in before if each.n not in left) for left in ((), wrong))
    now = Counter(each.text for each in after)
    return (right - now).total() > (now - old).total()


def _confirmed_parts(state: RunState, step: StepState, said: Returned) -> Json:
    """Return the parts that a lead says are missing, each call once: two parts may mean the same. ``tried`` says
    whether its tool was called for anything. A part whose call was ``made`` is not ordered again; if the doubt was
    whether it was made, nothing is missing."""
    calls = [call for each in state.steps.values() for call in each.made]
    tried = {call.tool for call in calls} | {each["tool"] for each in not_allowed(state)}
    made = [(call.tool, call.args) for call in calls if call.ok]
    undone = {part["n"] for part in step.step.input["missing"] if "undone" in part}
    missing: list[Json] = []
    named: list[tuple[str, Mapping[str, Json]]] = []
    for part in objects_of(object_of(said.value).get("missing")):
        call = text_of(part.get("tool")), object_of(part.get("args"))
        is_made = call in made
        if not call[0] or not (call in named or (is_made and part.get("n") in undone)):
            missing.append({**part, "made": is_made, "tried": call[0] in tried})
            named.append(call)
    return {"missing": missing}


def _numbered(answer: FlowAnswer) -> FlowAnswer:
    """Return a corrected answer that cites sources by their numbers, also where its writer named passages."""
    passages = dict(answer.passages or {})
    cited: dict[tuple[str, str], list[str]] = {source: [] for source in answer.sources or ()}
    for name in dict.fromkeys(name for citation in citations_in(answer.text) for name in citation.ids):
        if name in passages and not name.isdigit():
            cited.setdefault((passages[name].title, passages[name].url), []).append(name)
    sources = [Numbered(*source, tuple(names)) for source, names in cited.items()]
    for number, source in enumerate(sources, start=1):
        found = [passages[name] for name in (f"{number}", *source.passages) if name in passages]
        if source.passages:
            passages[f"{number}"] = found[0].evolve(text="\n\n".join(each.text for each in found))
    if not any(source.passages for source in sources):
        return answer
    titles = [(each.title, each.url) for each in sources]
    return answer._replace(text=body(answer.text, sources), sources=titles, passages=passages)


def _claims_of(answer: FlowAnswer) -> Sequence[Claim]:
    """Return the claims of an answer; of one that has its text judged, those of its value."""
    if answer.judgement is None:
        return claims_of_answer(answer.text, answer.value)
    return claims_of_value(answer.value, 1 + len(answer.judgement.claims))


def _problem(doubt: Doubt) -> dict[str, Json]:
    named = {"path": doubt.path, "words": doubt.part, "why": doubt.why}
    return {name: fact for name, fact in {**named, "quote": doubt.quote, "evidence": doubt.evidence}.items() if fact}
