"""The end of every flow: its answer gets the shape that was asked for, and is judged, as further steps of its run.

::

    answer ─▶ shape ─▶ judge ─▶ contradicted? ─▶ the writer corrects it, once ─▶ judge that and what is new again ─▶ end
                          └─▶ something missing? ─▶ the lead confirms it, once ─▶ a gap

The text is delivered as it is in any case, with its doubts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from leadhand.core.commands import Outcome
from leadhand.core.errors import FailureClass
from leadhand.core.judgement import Claim, Doubt, Judgement
from leadhand.core.outcome import all_gaps, may_be_used
from leadhand.core.run import Gap
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, compact_json, list_of, object_of, objects_of, text_of
from leadhand.verify.claims import claims_of, claims_of_answer, claims_of_value
from leadhand.verify.judge import CONFIRM, MissingPart, instructions
from leadhand.verify.material import Material, found_out, of_results

from .context_budget import context_budget, fitting, tokens
from .facts import clarified_request, today
from .flow import Result as Returned
from .judging import Materials, Record, Round, contradictions, judge_round, judgement_of
from .seam.context import FlowContext
from .seam.details import Details
from .seam.outcomes import outcome_with
from .seam.results import FlowAnswer, Result, sha
from .shaping import shape_of_answer

CORRECTS = "$corrects"
"""The input of a step that corrects an answer: the digest of what was judged."""
ASK_FOR_IT = "ask for this part again"
MOST_ROUNDS = 3
"""Rounds in which an answer is judged, at most."""


class Judged(NamedTuple):
    """An outcome with its judgement, and the parts of the request that its answer leaves out, as the lead says, too."""

    outcome: Outcome
    missing: Sequence[Gap] = ()


async def close(run: FlowContext, outcome: Outcome, answer: FlowAnswer) -> Outcome:
    """Return the outcome of a flow with its shape and its judgement. What the ``answer`` leaves out is a gap."""
    outcome = await shape_of_answer(run, outcome)
    found = await judged(run, outcome, answer.writer, answer.material)
    return found.outcome._replace(gaps=[*found.outcome.gaps, *found.missing])


async def judged(run: FlowContext, outcome: Outcome, writer: str = "", material: Materials | None = None) -> Judged:
    """Judge an outcome, unless it claims nothing or nothing was found out: have it corrected, and ask what it lacks.

    ``writer`` is the worker that corrects the text ("": the one that wrote it), ``material`` what it is judged beside
    (None: the results that it uses).
    """
    state, check = run.state, run.state.definition.check
    before = outcome.judgement
    claims = claims_of_answer(outcome.answer, outcome.value) if before is None else _of_value(outcome)
    if check == "off" or not claims or not found_out(state):
        return Judged(outcome)
    answering = _Answering(run, outcome, claims, writer, material)
    if answering.of not in run.judged:
        run.judged[answering.of] = await answering.judged() if check == "judge" else answering.exact()
    found: Judged = run.judged[answering.of]
    judgement = found.outcome.judgement
    return found._replace(
        outcome=outcome._replace(answer=found.outcome.answer, value=found.outcome.value, judgement=judgement)
    )


async def judge(run: FlowContext, text: Result | str, uses: Sequence[Result] | None) -> Judgement:
    """Return the judgement of a text, for a flow that asks for it before it returns the text."""
    made = text if isinstance(text, Result) and uses is None else FlowAnswer(str(text), uses=uses)
    found = await judged(run, outcome_with(run.of, made))
    return found.outcome.judgement or Judgement()


class _Answering:
    """The judging of one outcome: its ``claims``, the digest ``of`` what is judged, and the rounds."""

    def __init__(
        self,
        run: FlowContext,
        outcome: Outcome,
        claims: Sequence[Claim],
        writer: str,
        material: Materials | None,
    ) -> None:
        self._run, self._outcome, self._claims = run, outcome, claims
        self._writer, self._own_material = writer, material
        used = [run.state.steps[key] for key in dict.fromkeys(outcome.uses) if key in run.state.steps]
        self._results = [each for each in used if may_be_used(each)]
        known = [[each.key, Result(each).digest] for each in self._results]
        self.of = sha([outcome.answer, outcome.value, known])[:12]

    def _material(self, state: RunState) -> Material:
        if self._own_material is not None:
            return self._own_material(state)
        results = [state.steps[each.key] for each in self._results]
        found = of_results(state, results, self._outcome.answer)
        gaps = tuple({"what": each.name, "reason": each.reason} for each in all_gaps(state, self._outcome))
        return replace(found, gaps=gaps)

    def exact(self) -> Judged:
        return Judged(self._with(self._outcome.answer, self._outcome.value, [], None))

    async def judged(self) -> Judged:
        first = await self._round("", self._claims, [])
        answer, value, missing = await self._answered(first)
        claims = self._claims_of(answer, value)
        records = [first.record]
        judged_by = first.judged_by
        while len(records) < MOST_ROUNDS:
            after = await self._round(f"-again-{len(records)}", claims, records)
            if not after.record:
                break
            records.append(after.record)
            judged_by = after.judged_by or judged_by
        return Judged(self._with(answer, value, records, judged_by), missing)

    async def _round(self, suffix: str, claims: Sequence[Claim], records: Sequence[Record]) -> Round:
        name = f"judge-answer-{self.of}{suffix}"
        return await judge_round(self._run, name, claims, self._material, records, of=self.of)

    def _claims_of(self, answer: str, value: Json) -> Sequence[Claim]:
        changed = self._outcome._replace(answer=answer, value=value)
        return claims_of_answer(answer, value) if changed.judgement is None else _of_value(changed)

    def _with(self, answer: str, value: Json, records: Sequence[Record], judged_by: str | None) -> Outcome:
        """Return the outcome with its judgement."""
        before, material = self._outcome.judgement, self._material(self._run.state)
        found = judgement_of(self._claims_of(answer, value), records, judged_by, material)
        if before is not None:  # the flow has judged its text, and only the value is new
            found = found.evolve(
                claims=(*before.claims, *found.claims),
                doubts=(*before.doubts, *found.doubts),
                judged_by=before.judged_by or judged_by,
            )
        return self._outcome._replace(answer=answer, value=value, judgement=found)

    # --- corrections and missing parts -------------------------------------------------------------------------------

    async def _answered(self, first: Round) -> tuple[str, Json, Sequence[Gap]]:
        """Return the answer and its value, corrected once if the first round contradicts them, and what they lack."""
        wrong = contradictions(self._claims, [first.record])
        leaves = {each.n for each in self._claims if each.path}
        parts = (("text", self._text_writer()), ("value", self._value_writer()))
        steps = {
            part: self._correction(part, writer, problems)
            for part, writer in parts
            if writer and (problems := [each for each in wrong if (each.n in leaves) is (part == "value")])
        }
        if first.missing:
            steps["missing"] = self._confirmation(first.missing)
        replies = dict(zip(steps, await self._run.gather(steps.values()), strict=True))
        answer, value = self._outcome.answer, self._outcome.value
        shaped, text, confirmed = replies.get("value"), replies.get("text"), replies.get("missing")
        if shaped is not None and shaped.ok:
            answer = compact_json(shaped.value) if answer == compact_json(value) else answer
            value = shaped.value
        if text is not None and text.ok and claims_of(text.text):
            answer = text.text  # else it is not a correction
        said = objects_of(list_of(object_of(confirmed.value).get("missing"))) if confirmed and confirmed.ok else []
        reasons = {each.get("n"): text_of(each.get("reason")) for each in said}
        missing = [
            Gap(name=each.part, class_=FailureClass.INSUFFICIENT, reason=reasons[n], next_action=ASK_FOR_IT)
            for n, each in enumerate(first.missing, start=1)
            if n in reasons
        ]
        return answer, value, missing

    def _correction(self, part: str, writer: str, problems: Sequence[Doubt]) -> Any:
        is_value = part == "value"
        fits = self._run.fits

        def shows(state: RunState, step: StepState) -> dict[str, Any]:
            return self._correction_brief(state, step, self._outcome.value if is_value else self._outcome.answer)

        def checks(_state: RunState, _step: StepState, result: Returned) -> Sequence[str]:
            return fits(result.value) if is_value and fits is not None else []

        return self._run.step(
            self._run.worker(writer),
            key=f"correct-{self.of}-{part}",
            input={CORRECTS: self.of, "problems": [_problem(each) for each in problems]},
            details=Details(title="correction", instructions=instructions("correct"), shows=shows, checks=checks),
            tools=(),
            optional=True,
            final=True,
        )

    def _correction_brief(self, state: RunState, step: StepState, written: Json) -> dict[str, Any]:
        facts = {"request": clarified_request(state), **today(state)}
        room = context_budget(state, step.step.worker) - tokens([facts, written])
        problems: list[Any] = [*step.step.input["problems"]]
        problems = fitting(problems, room) or problems[:1]
        named = {each.get("evidence"): None for each in problems}
        material = self._material(state)
        evidence = {key: each for key, each in material.evidence.items() if key in named}
        shown = {"answer": written, "problems": problems, "evidence": evidence, "calls": [*material.calls]}
        is_fitting = tokens(shown) <= room + tokens(written)
        return {**facts, **(shown if is_fitting else {"answer": written, "problems": problems})}

    def _confirmation(self, parts: Sequence[MissingPart]) -> Any:
        missing = [{"n": n, "part": each.part, "request": each.request} for n, each in enumerate(parts, start=1)]

        def shows(state: RunState, _: StepState) -> dict[str, Any]:
            facts = {"request": clarified_request(state), **today(state), "answer": self._outcome.answer}
            return {**facts, "gaps": [*self._material(state).gaps], "missing": missing}

        return self._run.step(
            self._run.worker(CONFIRM),
            key=CONFIRM,
            input={"of": self.of, "missing": missing},
            details=Details(title="what is missing", shows=shows),
            optional=True,
            final=True,
        )

    def _text_writer(self) -> str:
        """Return the worker that wrote the text of the answer; "" if a flow joined it, or it is too long to repeat."""
        state, answer = self._run.state, self._outcome.answer
        if tokens(answer) > state.definition.limits.max_output_tokens:
            return ""
        if self._writer:
            return self._writer
        wrote = (
            each
            for each in state.steps.values()
            if each.ok and each.value is None and each.data is not None and each.data.summary == answer
        )
        return _able(state, next((each.step.worker for each in wrote), ""), text=True)

    def _value_writer(self) -> str:
        """Return the worker that gave the answer its value."""
        state = self._run.state
        if state.definition.shape:
            return state.definition.shape
        gave = (each.step.worker for each in state.steps.values() if each.ok and each.value == self._outcome.value)
        return _able(state, next(gave, ""), text=False)


def _able(state: RunState, name: str, *, text: bool) -> str:
    """Return the name of a worker that a model carries out, and that writes text if it has to; "" for another."""
    worker = state.worker(name)
    if worker is None or worker.loop == "code" or (text and worker.output is not None):
        return ""
    return name


def _of_value(outcome: Outcome) -> Sequence[Claim]:
    return claims_of_value(outcome.value, 1 + (len(outcome.judgement.claims) if outcome.judgement is not None else 0))


def _problem(doubt: Doubt) -> dict[str, Json]:
    named = {"path": doubt.path, "words": doubt.part, "why": doubt.why}
    return {name: fact for name, fact in {**named, "quote": doubt.quote, "evidence": doubt.evidence}.items() if fact}
