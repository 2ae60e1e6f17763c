"""Values of flags that are more than a text or a number: policies, JSON, options of flows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from leadhand.core.errors import UsageError
from leadhand.core.tool import ApprovalPolicy


def approval_settings(given: Sequence[str]) -> dict[str, Any]:
    """Return ``approve`` and ``approve_rules`` from the values of ``--approve``, in their order. Raises UsageError."""
    found: dict[str, str] = {}
    for each in given:
        rule, equals, policy = each.rpartition("=")
        if not equals and ":" in each:
            raise UsageError(f"invalid value for --approve: {each!r}", f"Add a policy: {each}=ask, =auto or =never.")
        if rule in found:
            what = f"names {rule} twice" if rule else f"names 2 policies: {found[rule]} and {policy}"
            raise UsageError(f"--approve {what}", "Give one policy; rules look like tool:send_*=auto.")
        found[rule] = policy
    policy = found.pop("", ApprovalPolicy.ASK)
    if policy not in tuple(ApprovalPolicy):
        raise UsageError(f"invalid value for --approve: {policy!r}", f"Choose from: {', '.join(ApprovalPolicy)}.")
    return {"approve": ApprovalPolicy(policy), "approve_rules": found}


def json_value(flag: str, given: str | None) -> Any:
    """Return the value of a flag that takes JSON, None if it was not given. Raises UsageError."""
    if given is None:
        return None
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"invalid JSON in {flag}: {error}", f"""Quote it: {flag} '{{"amount": 20}}'""") from error


def flow_options(given: Sequence[str]) -> dict[str, Any]:
    """Return the options of a flow from the values of ``--option NAME=VALUE``: JSON, or text if it is not JSON.

    Raises UsageError for one without a name or a value, and for a name that is given twice.
    """
    options: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier() or name in ("request", "flow"):  # arguments of their own in Python
            raise UsageError(f"invalid value for --option: {each!r}", "Give NAME=VALUE: --option max_revisions=2")
        if name in options:
            raise UsageError(
                f"--option names {name} twice", """Give it once. A list is JSON: --option 'topics=["a", "b"]'"""
            )
        options[name] = json_or_text(text)
    return options


def json_or_text(text: str) -> Any:
    """Return the value of a text that is JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
