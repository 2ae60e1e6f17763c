"""``--approve`` as it is given on a command line: a policy, and rules for some calls."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.domain.errors import UsageError
from leadhand.domain.tool import ApprovalPolicy

POLICIES = tuple(policy.value for policy in ApprovalPolicy)


def approval(given: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The policy, and the rules for some calls, in their order. Raises UsageError."""
    policies = [each for each in given if "=" not in each and ":" not in each]
    rules: dict[str, str] = {}
    for each in given:
        if each in policies:
            continue
        rule, equals, said = each.rpartition("=")
        if not equals:
            raise UsageError(f"--approve is {each!r}", f"A rule says what it comes to: {each}=ask, =auto or =never.")
        if rule in rules:
            raise UsageError(f"--approve names {rule} twice", "Give one rule for it.")
        rules[rule] = said
    if len(policies) > 1:
        raise UsageError(f"--approve is {' and '.join(policies)}", "Give one policy; rules look like tool:send_*=auto.")
    if policies and policies[0] not in POLICIES:
        raise UsageError(f"--approve is {policies[0]!r}", f"It is one of: {', '.join(POLICIES)}.")
    return (policies or ["ask"])[0], rules
