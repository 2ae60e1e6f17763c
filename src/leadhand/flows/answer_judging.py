"""Judge an answer before its run ends: claims, exact checks, a judge, one correction, and a second opinion.

::

    answer ─▶ judge ─▶ contradicted? ─▶ the writer corrects it, once ─▶ judge that and what is new again ─▶ end
                └─▶ something missing? ─▶ the lead confirms it, once ─▶ a gap

The text is delivered as it is in any case, with its doubts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from leadhand.core.commands import Command, IssueStep, Outcome
from leadhand.core.errors import FailureClass, UsageError
from leadhand.core.judgement import Check, Claim, Doubt
from leadhand.core.outcome import all_gaps, may_be_used
from leadhand.core.run import Gap, RunDefinition
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, compact_json, list_of, object_of, objects_of, plain_json, text_of
from leadhand.flows.facts import clarified_request
from leadhand.verify.claims import claims_of, claims_of_answer, claims_of_value
from leadhand.verify.judge import CONFIRM, JUDGE, Verifier, instructions, reply_schema
from leadhand.verify.material import Material, found_out, of_results

from .context_budget import context_budget, fitting, tokens
from .desk import Code, Desk
from .facts import today
from .flow import Flow
from .judging import Round, contradictions, judge_brief, judge_reply, judge_round, judgement_of
from .policy import Fits
from .run_view import CORRECTS, RunView

ANSWER = "judge-answer-"
"""The beginning of the names of the rounds in which this step has the answer of a flow judged."""


class _Subject(NamedTuple):
    """What is judged: an answer and its value, by a digest, with their claims and the material beside them."""

    of: str
    answer: str
    value: Json
    claims: Sequence[Claim]
    material: Material


class Judging:
    """The closing step that judges the answer of a flow, unless the flow has done so itself."""

    def __init__(self, flow: Flow, definition: RunDefinition, fits: Fits | None, verifier: Verifier | None) -> None:
        self._flow = flow
        self._options = flow.checked_options(definition.options)
        self._fits = fits
        self._verifier = verifier
        self._check: Check = definition.check
        self._found: tuple[Any, _Subject | None] = None, None

    def owns(self, step: StepState) -> bool:
        given = step.step
        return (
            given.worker == CONFIRM
            or CORRECTS in given.input
            or (given.worker == JUDGE and given.judges.startswith(ANSWER))
        )

    def next(self, state: RunState, outcome: Outcome) -> Sequence[Command] | None:
        subject = self._subject(state, outcome)
        if self._check != "judge" or subject is None:
            return None
        first = _first(state, subject)
        if first.wanted or first.is_open:
            return first.wanted
        confirming = self._confirming(state, subject, first)
        correcting = self._correcting(state, outcome, subject, first)
        if confirming is not None or correcting is not None:
            return [*(confirming or ()), *(correcting or ())]
        last = self._rounds(state, subject, outcome, first)[-1]
        return last.wanted if last.wanted or last.is_open else None

    def outcome(self, state: RunState, outcome: Outcome) -> Outcome:
        subject = self._subject(state, outcome)
        if subject is None:
            return outcome
        answer, value = self._corrected(state, subject)
        claims = self._claims(answer, value, outcome)
        first = _first(state, subject)
        rounds = self._rounds(state, subject, outcome, first)
        by = next((each.judged_by for each in reversed(rounds) if each.judged_by), None)
        found = judgement_of(claims, [each.record for each in rounds], by, subject.material)
        if outcome.judgement is not None:  # the flow has judged its text, and only the value is new
            found = found.evolve(
                claims=(*outcome.judgement.claims, *found.claims),
                doubts=(*outcome.judgement.doubts, *found.doubts),
                judged_by=outcome.judgement.judged_by or by,
            )
        gaps = [*outcome.gaps, *self._missing(state, subject, first)]
        return outcome._replace(answer=answer, value=value, judgement=found, gaps=gaps)

    # --- what is judged ----------------------------------------------------------------------------------------------

    def _subject(self, state: RunState, outcome: Outcome) -> _Subject | None:
        """Return what is judged of an outcome; None if it claims nothing, or if nothing was found out."""
        key = state.run_id, state.seq, outcome.answer
        if self._found[0] != key:
            self._found = key, self._subject_now(state, outcome)
        return self._found[1]

    def _subject_now(self, state: RunState, outcome: Outcome) -> _Subject | None:
        claims = self._claims(outcome.answer, outcome.value, outcome)
        if self._check == "off" or not claims or not found_out(state):
            return None
        used = (state.steps.get(key) for key in dict.fromkeys(outcome.uses))
        results = [each for each in used if each is not None and may_be_used(each)]
        own = self._flow.material(RunView(state, self._options))
        whole = [outcome.answer, outcome.value, [each.key for each in results], len(state.answers)]
        of = hashlib.sha256(compact_json(whole).encode(errors="replace")).hexdigest()[:12]
        material = of_results(state, results, outcome.answer) if own is None else own
        gaps = tuple({"what": each.name, "reason": each.reason} for each in all_gaps(state, outcome))
        material = replace(material, gaps=gaps)
        return _Subject(of, outcome.answer, outcome.value, claims, material)

    def _subject_of(self, state: RunState, step: StepState, outcome: Outcome) -> _Subject | None:
        """Return what a step of this step works on; None if the outcome is another one by now."""
        subject, given = self._subject(state, outcome), step.step.input
        return subject if subject is not None and subject.of in (given.get("of"), given.get(CORRECTS)) else None

    def _claims(self, answer: str, value: Json, outcome: Outcome) -> list[Claim]:
        judged = outcome.judgement
        return claims_of_answer(answer, value) if judged is None else claims_of_value(value, 1 + len(judged.claims))

    def _rounds(self, state: RunState, subject: _Subject, outcome: Outcome, first: Round) -> list[Round]:
        """Return the rounds that judge an answer, up to the first that is open: after the first, what is new in a
        correction or was contradicted once; then what was contradicted once in the correction alone."""
        claims = self._claims(*self._corrected(state, subject), outcome)
        rounds = [first]
        while len(rounds) < MOST_ROUNDS and not (rounds[-1].wanted or rounds[-1].is_open):
            name = f"{ANSWER}{subject.of}{AGAIN}{len(rounds)}"
            records = [each.record for each in rounds]
            rounds.append(judge_round(state, name, claims, subject.material, records, of=subject.of))
        return rounds

    # --- corrections -------------------------------------------------------------------------------------------------

    def _correcting(
        self, state: RunState, outcome: Outcome, subject: _Subject, first: Round
    ) -> Sequence[Command] | None:
        """Return what corrects what is contradicted; None if nothing does, or did so already."""
        wrong = contradictions(subject.claims, [first.record])
        leaves = {each.n for each in subject.claims if each.path}
        wanted: list[Command] = []
        is_open = False
        for part, writer in (("text", self._writer(state, outcome)), ("value", self._shaper(state, outcome))):
            problems = [each for each in wrong if (each.n in leaves) is (part == "value")]
            if not problems or not writer:
                continue
            key = f"correct-{subject.of}-{part}"
            if (correcting := state.steps.get(key)) is None:
                given = {CORRECTS: subject.of, "problems": [_problem(each) for each in problems]}
                asks = instructions("correct")
                wanted.append(
                    IssueStep(
                        id=key,
                        worker=writer,
                        title="correction",
                        input=given,
                        instructions=asks,
                        tools=(),
                        final=True,
                    )
                )
            is_open = is_open or (correcting is not None and not correcting.closed)
        return wanted if wanted or is_open else None

    def _writer(self, state: RunState, outcome: Outcome) -> str:
        """Return the role that wrote the text of an answer; "" if a flow joined it, or it is too long for one reply."""
        if tokens(outcome.answer) > state.definition.limits.max_output_tokens:
            return ""
        if self._flow.writer:
            return self._flow.writer
        own = (
            each.step.worker
            for each in reversed(state.steps.values())
            if each.ok and each.data is not None and each.value is None and each.data.summary == outcome.answer
        )
        role = state.worker(next(own, ""))
        return role.name if role is not None and role.loop != "code" and role.output is None else ""

    def _shaper(self, state: RunState, outcome: Outcome) -> str:
        """Return the role that gave an answer its value."""
        if state.definition.shape:
            return state.definition.shape
        own = (each for each in reversed(state.steps.values()) if each.ok and each.value == outcome.value)
        role = state.worker(next((each.step.worker for each in own), ""))
        return role.name if role is not None and role.loop != "code" else ""

    def _corrected(self, state: RunState, subject: _Subject) -> tuple[str, Json]:
        """Return the answer and its value after their corrections."""
        text, shaped = (state.steps.get(f"correct-{subject.of}-{part}") for part in ("text", "value"))
        answer, value = subject.answer, subject.value
        if shaped is not None and shaped.ok:
            answer = compact_json(shaped.value) if answer == compact_json(value) else answer
            value = shaped.value
        if text is not None and text.ok and text.data is not None and claims_of(text.data.summary):
            answer = text.data.summary  # else it is not a correction
        return answer, value

    # --- missing parts -----------------------------------------------------------------------------------------------

    def _confirming(self, state: RunState, subject: _Subject, first: Round) -> Sequence[Command] | None:
        """Return what asks the lead about missing parts; None if nobody asks, or it has replied. It is asked once."""
        if not first.missing:
            return None
        confirming = state.steps.get(CONFIRM)
        if confirming is None:
            given = {"of": subject.of}
            return [IssueStep(id=CONFIRM, worker=CONFIRM, title="what is missing", input=given, final=True)]
        return None if confirming.closed else []

    def _missing(self, state: RunState, subject: _Subject, first: Round) -> list[Gap]:
        confirmed = state.steps.get(CONFIRM)
        if confirmed is None or not confirmed.ok or confirmed.step.input.get("of") != subject.of:
            return []
        replied = objects_of(list_of(object_of(confirmed.value).get("missing")))
        reasons = {each.get("n"): text_of(each.get("reason")) for each in replied}
        parts = enumerate(first.missing, start=1)
        return [
            Gap(name=part.part, class_=FailureClass.INSUFFICIENT, reason=reasons[n], next_action=ASK_FOR_IT)
            for n, part in parts
            if n in reasons
        ]

    # --- workers -----------------------------------------------------------------------------------------------------

    def brief(self, state: RunState, step: StepState, outcome: Outcome) -> dict[str, Any]:
        subject, given = self._subject_of(state, step, outcome), step.step
        if subject is None:
            return {"request": clarified_request(state), "claims": [], "evidence": {}, "calls": []}
        if given.worker == JUDGE:
            return judge_brief(state, given.input, self._judged(state, step, subject, outcome), subject.material)
        facts = {"request": clarified_request(state), **today(state)}
        if given.worker == CONFIRM:
            first = _first(state, subject)
            parts = enumerate(first.missing, start=1)
            missing = [{"n": n, "part": part.part, "request": part.request} for n, part in parts]
            return {**facts, "answer": outcome.answer, "gaps": [*subject.material.gaps], "missing": missing}
        written: Json = outcome.value if given.step_id.endswith("-value") else outcome.answer
        room = context_budget(state, given.worker) - tokens([facts, written])
        problems = given.input["problems"]
        problems = fitting(problems, room) or problems[:1]
        named = {each.get("evidence"): None for each in problems}
        evidence = {key: each for key, each in subject.material.evidence.items() if key in named}
        shown = {"answer": written, "problems": problems, "evidence": evidence, "calls": [*subject.material.calls]}
        is_fitting = tokens(shown) <= room + tokens(written)
        return {**facts, **(shown if is_fitting else {"answer": written, "problems": problems})}

    def _judged(self, state: RunState, step: StepState, subject: _Subject, outcome: Outcome) -> Sequence[Claim]:
        if AGAIN in step.step.judges:
            return self._claims(*self._corrected(state, subject), outcome)
        return subject.claims

    def schema(self, step: StepState) -> dict[str, Any] | None:
        return reply_schema(step.step.input["claims"]) if step.step.worker == JUDGE else None

    def problems(self, step: StepState, value: Json) -> list[str]:
        corrects_value = CORRECTS in step.step.input and value is not None
        return self._fits(value) if corrects_value and self._fits is not None else []

    def accepted(
        self, state: RunState, step: StepState, value: Json, brief: Mapping[str, Any], outcome: Outcome
    ) -> Json:
        subject, given = self._subject_of(state, step, outcome), step.step
        if given.worker != JUDGE:
            return value
        claims = () if subject is None else self._judged(state, step, subject, outcome)
        return judge_reply(state, given.input, claims, value, brief)

    def code(self) -> Code:
        return verifying(self._verifier)


ASK_FOR_IT = "ask for this part again"
AGAIN = "-again-"
MOST_ROUNDS = 3
"""Rounds in which an answer is judged, at most."""


def _first(state: RunState, subject: _Subject) -> Round:
    return judge_round(state, f"{ANSWER}{subject.of}", subject.claims, subject.material, of=subject.of)


def _problem(doubt: Doubt) -> dict[str, Json]:
    named = {"path": doubt.path, "words": doubt.part, "why": doubt.why}
    return {name: fact for name, fact in {**named, "quote": doubt.quote, "evidence": doubt.evidence}.items() if fact}


def verifying(verifier: Verifier | None) -> Code:
    """Return the code of a step that judges with a verifier of the user's own."""

    async def verify(desk: Desk) -> Json:
        if verifier is None:
            raise UsageError("this process has no verifier, and the run needs one", "Pass it: Leadhand(verifier=…).")
        brief = desk.brief
        fields = Claim.model_fields
        claims = [Claim.model_validate({k: v for k, v in each.items() if k in fields}) for each in brief["claims"]]
        found = await verifier.verify(claims, brief["evidence"], brief["calls"], brief["request"])
        reply = plain_json(found.model_dump(mode="json"))
        return {**reply, "judged_by": getattr(verifier, "name", "") or type(verifier).__name__}

    return verify
