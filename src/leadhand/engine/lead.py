"""Carries out one thought of the lead: plan, review or compose; malformed answers are asked for again."""

from __future__ import annotations

from leadhand.domain.assignment import Role
from leadhand.domain.errors import Failure
from leadhand.domain.review import Review
from leadhand.domain.tool import ToolSpec
from leadhand.domain.value import Json
from leadhand.domain.work_order import Plan, ProposedSubtask
from leadhand.domain.work_result import ResultData, WorkResult
from leadhand.engine.conversation import Conversation, Turn
from leadhand.engine.gate import argument_faults, schema_faults
from leadhand.engine.turns import Turns
from leadhand.ports import ModelError, Work


class Lead:
    """One attempt at one thought. What it thinks is a proposal; the controller decides what becomes of it."""

    def __init__(self, work: Work, turns: Turns) -> None:
        self._work = work
        self._turns = turns

    async def think(self, conversation: Conversation) -> WorkResult:
        """The result; the structured value of a plan or review is that of the conversation's last turn.

        An answer that does not fit is asked for again with what is wrong with it, ``max_repairs`` times; then the
        attempt fails as ``invalid``.
        """
        name = self._work.assignment.assignment_id
        turn = conversation.turns[-1] if conversation.turns else None
        try:
            while turn is None or self.faults(turn):
                if conversation.replies > self._work.definition.limits.max_repairs:
                    assert turn is not None
                    message = self._said_of(turn)
                    failure = {"message": message, "type": "malformed_answer", "class": "invalid"}
                    return WorkResult.failed(name, Failure.model_validate(failure))
                turn = await self._turns.ask(conversation, self._objection)
        except ModelError as error:
            return WorkResult.failed(name, error.failure)
        text = turn.message.text.strip() or self._work.assignment.role
        return WorkResult(task_name=name, ok=True, data=ResultData(summary=text))

    def faults(self, turn: Turn) -> list[str]:
        """What is wrong with an answer: no JSON where JSON was asked for, a schema it does not fit, unknown tools, …"""
        output = self._work.brief.output
        if output is not None:
            if turn.value is None:
                return [f"answer with one JSON object that fits the schema of {output.name}, and nothing else"]
            found = schema_faults(output.schema_, turn.value)
            if found:
                return found
        found = self._work.faults(turn.value, turn.message.text) if self._work.faults is not None else []
        return found or _argument_faults(self._work.assignment.role, turn.value, self._tools)

    def _said_of(self, turn: Turn) -> str:
        """What is wrong with an answer, in words for a person."""
        output = self._work.brief.output
        if output is None or turn.value is not None:
            return "; ".join(self.faults(turn))
        text = " ".join(turn.message.text.split())
        said = f"{text[:80]}…" if len(text) > 80 else text
        return f"the model answered with prose where a {output.name} was asked for: {said!r}"

    @property
    def _tools(self) -> dict[str, ToolSpec]:
        return {tool.name: tool for tool in self._work.definition.tools}

    def _objection(self, turn: Turn) -> str:
        return "That cannot be used: " + "; ".join(self.faults(turn)) + ". Answer again, whole and corrected."


def _argument_faults(role: str, value: Json, tools: dict[str, ToolSpec]) -> list[str]:
    """Arguments of proposed calls that do not fit their tool, one sentence each."""
    proposed: tuple[ProposedSubtask, ...] = ()
    if role == Role.PLAN:
        proposed = Plan.model_validate(value).subtasks
    elif role == Role.REVIEW:
        review = Review.model_validate(value)
        replacements = (verdict.replacement for verdict in review.verdicts if verdict.replacement is not None)
        proposed = (*replacements, *review.missing)
    found: list[str] = []
    for index, subtask in enumerate(proposed):
        tool = tools.get(subtask.tool or "")
        if tool is not None:
            # What a need will supply may still be missing; it is checked again when the call is made.
            faults = argument_faults(tool, subtask.args, complete=not subtask.needs)
            found += [f"subtask {index} ({subtask.name}), arguments of {tool.name}: {fault}" for fault in faults]
    return found[:8]
