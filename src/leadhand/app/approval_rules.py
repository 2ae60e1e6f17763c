"""Parse approval policies and rules from callers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import cast

from leadhand.app.arguments import shown, text
from leadhand.domain.errors import UsageError
from leadhand.domain.tool import ApprovalPolicy, Effect, ToolSpec

TRAITS = ("tool", "toolset", "effect", "origin")
"""What a rule can match; see :func:`~leadhand.domain.approval.policy_of`."""
POLICIES = ", ".join(policy.value for policy in ApprovalPolicy)
EXAMPLE = '"tool:send_*": "auto"'


def approval_policy(name: object) -> ApprovalPolicy:
    """Return the policy with this name. Raises UsageError for an unknown name."""
    try:
        return ApprovalPolicy(cast("str", name))
    except ValueError as error:
        raise UsageError(f"invalid value for approve: {shown(name)}", f"Choose from: {POLICIES}.") from error


def approval_rules(rules: object) -> dict[str, ApprovalPolicy]:
    """Return the rules in order, as a run records them. Raises UsageError for an invalid rule."""
    if rules is None:
        return {}
    if not isinstance(rules, Mapping):
        raise UsageError(f"invalid value for approve_rules: {shown(rules)}", f"Pass a dict of rules: {{{EXAMPLE}}}.")
    return {_rule(name): _policy(name, said) for name, said in cast("Mapping[object, object]", rules).items()}


def check_rules(rules: Mapping[str, ApprovalPolicy], tools: Iterable[ToolSpec]) -> None:
    """Raise UsageError for a rule that names a tool the run does not have: a typo in a ``never`` rule is dangerous.

    A rule with a wildcard may be meant for other runs too, and may match nothing here.
    """
    names = {tool.name for tool in tools}
    for rule in rules:
        trait, _, pattern = rule.partition(":")
        if trait == "tool" and pattern not in names and not set(pattern) & set("*?["):
            listed = ", ".join(sorted(names)) or "none"
            raise UsageError(f"the approval rule {rule} names no tool of this run", f"Its tools are: {listed}.")


def _rule(name: object) -> str:
    rule = text(name, "an approval rule", f"Name what it matches, such as {EXAMPLE}.")
    trait, colon, pattern = rule.partition(":")
    if not colon or trait not in TRAITS:
        listed = ", ".join(f"{known}:" for known in TRAITS)
        raise UsageError(f"unknown kind of approval rule: {shown(rule)}", f"Start the rule with {listed}.")
    if not pattern:
        raise UsageError(f"the approval rule {shown(rule)} has no pattern", f"Add a pattern, or match all: {rule}*")
    if trait == "effect" and not any(fnmatchcase(effect.value, pattern) for effect in Effect):
        listed = ", ".join(effect.value for effect in Effect)
        raise UsageError(f"unknown effect in the approval rule {shown(rule)}", f"Choose from: {listed}.")
    return rule


def _policy(name: object, said: object) -> ApprovalPolicy:
    try:
        return ApprovalPolicy(cast("str", said))
    except ValueError as error:
        raise UsageError(
            f"invalid policy for the approval rule {shown(name)}: {shown(said)}", f"Choose from: {POLICIES}."
        ) from error
