"""Check the calls that an answer proposes, such as those of the subtasks of a plan."""

from __future__ import annotations

from leadhand.domain.value import Json
from leadhand.engine.gate import argument_problems, schema_flaw, schema_problems
from leadhand.ports import Work

MOST_PROBLEMS = 8


def proposed_problems(work: Work, value: Json) -> list[str]:
    """Return the problems of the arguments of the calls that a value proposes, one sentence each, at most eight."""
    proposed = work.proposed_calls(value)
    tools = {tool.name: tool for tool in work.definition.tools} if proposed else {}
    found: list[str] = []
    for call in proposed:
        if call.output is not None and (flaw := schema_flaw(call.output)):
            found.append(f"{call.where}, expected_output is not a usable JSON schema: {flaw}")
        if call.input is not None and call.complete:
            given = schema_problems(call.input, dict(call.args))
            found += [f"{call.where}, arguments for its worker: {problem}" for problem in given]
        tool = tools.get(call.tool)
        if tool is not None:
            problems = argument_problems(tool, call.args, complete=call.complete)
            found += [f"{call.where}, arguments of {tool.name}: {problem}" for problem in problems]
    return found[:MOST_PROBLEMS]
