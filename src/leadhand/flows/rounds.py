"""Rounds of judging as steps of a flow: requests to a judge about the claims of a text, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leadhand.core.errors import UsageError
from leadhand.core.judgement import Claim, ClaimVerdict
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, object_of, plain_json, text_of
from leadhand.verify.judge import JUDGE, Findings, Verifier, merged, reply_schema
from leadhand.verify.material import Material

from .desk import Code, Desk
from .flow import Result as Returned
from .judging import (
    MOST_REQUESTS,
    Entry,
    Record,
    Round,
    is_unsettled,
    judge_brief,
    judge_reply,
    keys_of,
    room_beside,
    shards_of,
)
from .seam.context import FlowContext
from .seam.details import Details
from .seam.results import Result

Materials = Callable[[RunState], Material]
"""Returns what claims are judged beside."""


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
    keys, beside = keys_of(claims), material(run.state)
    new = [each for each in claims if is_unsettled(keys[each.n], records)]
    shards = list(shards_of(new, beside, room_beside(run.state, beside))) if new else []
    left = {n for numbers, _ in shards[MOST_REQUESTS:] for n in numbers}  # only a part of their evidence would be shown
    kept = [([n for n in numbers if n not in left], pieces) for numbers, pieces in shards[:MOST_REQUESTS]]
    asked = [each for each in kept if each[0]]

    def shows(state: RunState, step: StepState) -> dict[str, Any]:
        return judge_brief(state, step.step.input, claims, material(state))

    def keeps(state: RunState, step: StepState, result: Returned) -> Json:
        return judge_reply(state, step.step.input, claims, result.value, result.brief)

    def schema(_: RunState, step: StepState) -> dict[str, Any] | None:
        return reply_schema(step.step.input["claims"])

    details = Details(title="judge", judges=name, shows=shows, keeps=keeps, schema=schema)
    judge = run.worker(JUDGE)
    steps = [
        run.step(
            judge,
            key=f"{name}.{number}",
            input={"of": of, "claims": numbers, "evidence": [[*piece] for piece in pieces]},
            details=details if len(asked) == 1 else details.of(title=f"judge, part {number}"),
            optional=True,
            code=verifying(run.verifier) if judge.loop == "code" else None,
        )
        for number, (numbers, pieces) in enumerate(asked, start=1)
    ]
    replies: list[Result] = await run.gather(steps)
    found, judged_by = list[Findings](), None
    for (numbers, _), reply in zip(asked, replies, strict=True):
        said = object_of(reply.value).get("findings") if reply.ok else None
        findings = None if said is None else Findings.model_validate(said)
        found.append(findings or Findings(verdicts=dict.fromkeys(numbers, ClaimVerdict.NOT_CHECKED)))
        if findings and any(each is not ClaimVerdict.NOT_CHECKED for each in findings.verdicts.values()):
            judged_by = text_of(object_of(reply.value).get("judged_by"))
    found += [Findings(verdicts=dict.fromkeys(left, ClaimVerdict.NOT_CHECKED))] if left else []
    whole = merged(found)
    record = {
        keys[n]: Entry(verdict, [each for each in whole.doubts if each.n == n]) for n, verdict in whole.verdicts.items()
    }
    return Round(record=record, missing=whole.missing, judged_by=judged_by)


def verifying(verifier: Verifier | None) -> Code:
    """Return the code of a step that judges with a verifier of the user's own."""

    async def verify(desk: Desk) -> Json:
        if verifier is None:
            raise UsageError("this process has no verifier, and the run needs one", "Pass it: Leadhand(verifier=…).")
        brief: Mapping[str, Any] = desk.brief
        fields = Claim.model_fields
        claims = [Claim.model_validate({k: v for k, v in each.items() if k in fields}) for each in brief["claims"]]
        found = await verifier.verify(claims, brief["evidence"], brief["calls"], brief["request"])
        reply = plain_json(found.model_dump(mode="json"))
        return {**reply, "judged_by": getattr(verifier, "name", "") or type(verifier).__name__}

    return verify
