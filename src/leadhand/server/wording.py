"""Words for people who use HTTP: faults of a request without a validator's terms, and routes instead of commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """What is wrong with a request, in one line, and how to fix it."""

    what: str
    how: str


def fault_of(error: Mapping[str, Any]) -> Fault:
    """Describe one error of a request's validation."""
    place, *names = error["loc"]
    field = ".".join(map(str, names))
    if error["type"] == "json_invalid":
        why = str(error["ctx"]["error"])
        what = f"the body is not valid JSON: {why[:1].lower()}{why[1:]} at character {field}"
        return Fault(what, "Send a JSON object.")
    what = field if place == "body" else f"the {place} parameter {field}"
    what = what or "the body"
    match error["type"]:
        case "missing":
            return Fault(f"{what} is missing", f"Send {'it as a JSON object' if what == 'the body' else field}.")
        case "extra_forbidden":
            return Fault(f"{what} is not a field of this request", "Remove it, or correct its name.")
        case "model_attributes_type" | "model_type" | "dict_type":
            return Fault(f"{what} is not a JSON object", "Send a JSON object.")
        case "value_error":
            how = str(error["ctx"]["error"])
            return Fault(f"invalid value for {what}", f"{how[:1].upper()}{how[1:]}.")
        case _:
            rule = re.sub(r"^(Input|Value|[A-Z][a-z]+) should ", "must ", error["msg"])
            return Fault(f"{what} {rule}", "Send a value that meets this requirement.")


_ID = r"[^\s`:;,.()]+"
ROUTES = (
    (rf"leadhand runs show ({_ID}) --seq N shows one", r"GET /api/runs/\1/events shows them"),
    (rf"leadhand runs watch ({_ID})", r"GET /api/runs/\1/events"),
    (rf"leadhand runs export ({_ID})", r"GET /api/runs/\1/export"),
    (rf"leadhand runs show ({_ID})", r"GET /api/runs/\1"),
    (rf"leadhand runs resume ({_ID}) --.*", r"POST /api/runs/\1/resume, with its proposed_limits as limits"),
    (rf"leadhand runs (cancel|pause|resume) ({_ID})", r"POST /api/runs/\2/\1"),
    (rf"leadhand run --continue ({_ID}) REQUEST", r"POST /api/runs/\1/follow-up"),
    (rf"leadhand runs delete ({_ID})", r"DELETE /api/runs/\1"),
    (r"leadhand runs list", "GET /api/runs"),
    (
        rf"leadhand approvals settle ({_ID}) --happened, or --did-not",
        r'POST /api/approvals/\1 {"decision": "settle", "happened": true or false}',
    ),
    (rf"leadhand approvals approve ({_ID}), or use deny", r"POST /api/approvals/\1"),
    (r"leadhand approvals list", "GET /api/approvals"),
)
"""Commands in the advice of errors, and the routes that do the same."""


def with_routes(how: str) -> str:
    """Return advice with the routes of commands in place of these."""
    for command, route in ROUTES:
        how = re.sub(command, route, how)
    return how
