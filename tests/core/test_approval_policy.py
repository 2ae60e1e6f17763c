"""Which calls ask a person: a tool's own never, rules by trait, the tool's wish, the run's policy, in this order."""

from __future__ import annotations

import pytest

from leadhand.core.approval import policy_of
from leadhand.core.tool import ApprovalPolicy, Effect, ToolSpec

ASK, AUTO, NEVER = ApprovalPolicy.ASK, ApprovalPolicy.AUTO, ApprovalPolicy.NEVER


def spec(effect: str = "once", approval: ApprovalPolicy | None = None) -> ToolSpec:
    return ToolSpec(
        name="send_mail",
        description="Send a mail.",
        parameters={"type": "object"},
        effect=Effect(effect),
        approval=approval,
        toolset="mail",
        import_path="myshop.mail:send_mail",
    )


@pytest.mark.parametrize(
    ("tool", "policy", "rules", "expected"),
    [
        (spec(), ASK, {}, ASK),
        (spec(), AUTO, {}, AUTO),
        (spec(), NEVER, {}, NEVER),
        (spec("pure"), NEVER, {}, AUTO),
        (spec("idempotent"), ASK, {}, AUTO),
        (spec("pure", ASK), AUTO, {}, AUTO),
        (spec("pure", ASK), ASK, {}, ASK),
        (spec(approval=AUTO), ASK, {}, AUTO),
        (spec(approval=NEVER), AUTO, {"tool:send_mail": AUTO}, NEVER),
        (spec(), ASK, {"tool:send_*": AUTO}, AUTO),
        (spec(), ASK, {"tool:read_*": AUTO}, ASK),
        (spec(), ASK, {"toolset:mail": NEVER}, NEVER),
        (spec(), ASK, {"effect:once": AUTO}, AUTO),
        (spec("pure"), AUTO, {"effect:pure": ASK}, ASK),
        (spec(), ASK, {"origin:myshop.*": AUTO}, AUTO),
        (spec(), ASK, {"origin:other.*": AUTO, "tool:*": NEVER}, NEVER),
        (spec(), ASK, {"tool:*": NEVER, "effect:once": AUTO}, NEVER),
        (spec(approval=AUTO), ASK, {"tool:*": ASK}, ASK),
        (spec(), ASK, {"colour:red": AUTO}, ASK),
    ],
)
def test_the_first_word_that_fits_holds(
    tool: ToolSpec, policy: ApprovalPolicy, rules: dict[str, ApprovalPolicy], expected: ApprovalPolicy
):
    assert policy_of(tool, policy, rules) is expected
