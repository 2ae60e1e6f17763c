"""What is asked for when a run is started over HTTP, and what that amounts to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from ulid import ULID

from leadhand.app.approval_rules import approval_policy, approval_rules
from leadhand.app.arguments import check_request, limits, name
from leadhand.app.runtime import IdempotentId, Runtime
from leadhand.app.settings import Settings
from leadhand.domain.errors import UsageError
from leadhand.domain.limits import usd
from leadhand.server.problems import Problem

EXAMPLE = '{"request": "What is the weather in Paris?"}'
MODEL = "Name one as provider:name, or offline; or leave it out."
LONGEST_KEY = 255
STRICTER = ("auto", "ask", "never")
"""What becomes of calls that need a person's yes, the loosest first."""


class Body(BaseModel):
    """What is sent; a misspelt name is refused, not ignored, and so is ``true`` or ``"3"`` where a number belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LimitsBody(Body):
    """What a run may use; what is not given is as the server was started with; null is no limit of that kind."""

    max_steps: int | None = Field(default=None, ge=1, le=100, description="Work orders at most, the first included.")
    max_workers: int | None = Field(default=None, ge=1, le=10_000, description="Subtasks carried out at once.")
    batch_size: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Hand subtasks out in groups of this size."
    )
    budget: float | None = Field(default=None, ge=0, le=1_000_000, description="US dollars at most.")
    timeout: float | None = Field(default=None, ge=0.001, le=366 * 86_400, description="Seconds at most.")
    max_requests: int | None = Field(default=None, ge=1, le=1_000_000_000, description="Model calls at most.")
    max_tokens: int | None = Field(
        default=None, ge=1, le=1_000_000_000_000, description="Tokens of all calls, at most."
    )
    max_output_tokens: int | None = Field(default=None, ge=16, le=1_000_000, description="Tokens of one reply.")
    approval_timeout: float | None = Field(
        default=None, ge=0.001, le=366 * 86_400, description="Seconds that a question stands; then silence is a no."
    )


class Submission(Body):
    """A request to be carried out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"request": "What is the weather in Paris tomorrow, and how do I get from the Louvre to Orly?"},
                {
                    "request": "What is the weather in Paris, Lyon and Nice tomorrow?",
                    "flow": "work-order",
                    "offline": True,
                    "limits": {"budget": 0.5, "timeout": 300, "max_workers": 8},
                    "approve": "ask",
                },
            ]
        }
    )

    request: str = Field(description="What is wanted, in words.", min_length=1)
    flow: str = Field("work-order", description="How it is carried out.")
    model: str | None = Field(None, description="The model of every role, as provider:name; else the server's.")
    lead_model: str | None = Field(None, description="The model that plans, reviews and composes.")
    worker_model: str | None = Field(None, description="The model that carries subtasks out.")
    review_model: str | None = Field(None, description="The model that reviews.")
    offline: bool = Field(
        False, description="The built-in rule-based model and sample data: nothing leaves the machine."
    )
    limits: LimitsBody = Field(default_factory=LimitsBody)
    allow_unknown_price: bool = Field(False, description="Allow a model that no budget can bind.")
    approve: Literal["ask", "auto", "never"] | None = Field(
        None, description="What becomes of calls that need a person's yes; else as the server was started with."
    )
    approve_rules: dict[str, Literal["ask", "auto", "never"]] | None = Field(
        None, description='What holds for some calls instead: {"tool:send_*": "auto"}.'
    )
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the flow; work-order has none.")


def asked_for(submission: Submission, runtime: Runtime, agents: Mapping[str, str]) -> tuple[str, Settings]:
    """The request, checked, and the settings its run is to have. ``agents`` are the models that were set for roles:
    they give way to what is asked for. Raises UsageError."""
    request = check_request(submission.request, example=EXAMPLE)
    if submission.options:
        known = ", ".join(sorted(submission.options))
        raise UsageError(f"the flow {submission.flow} has no options, and {known} was given", "Leave options out.")
    roles = {
        role: each
        for role in ("lead", "worker", "review")
        if (each := name(getattr(submission, f"{role}_model"), f"{role}_model", MODEL)) is not None
    }
    model = name(submission.model, "model", MODEL)
    usual = runtime.settings
    offline = submission.offline or usual.offline
    if offline and any(each != "offline" for each in (model, *roles.values()) if each is not None):
        if submission.offline:
            raise UsageError("offline allows no other model, and one was named", "Give offline, or a model, not both.")
        raise UsageError(
            "this server works offline, which allows no other model, and one was named",
            "Leave the model out; or start the server without --offline.",
        )
    given = submission.limits.model_dump(exclude_unset=True)
    return request, replace(
        usual,
        model="offline" if offline else model or runtime.choice.models.default,
        models={} if offline else roles or ({} if model else {**usual.models, **agents}),
        offline=offline,
        limits=limits(**{**_usual_limits(usual), **given}),
        budget_given=usual.budget_given or "budget" in given,
        allow_unknown_price=usual.allow_unknown_price or submission.allow_unknown_price,
        approve=usual.approve if submission.approve is None else approval_policy(submission.approve),
        approve_rules=usual.approve_rules
        if submission.approve_rules is None
        else approval_rules(submission.approve_rules),
    )


def loosens(submission: Submission, usual: Settings) -> bool:
    """Whether calls could be made unasked that the server would ask about: who starts such a run says yes to them."""
    asked = submission.approve
    looser = asked is not None and STRICTER.index(asked) < STRICTER.index(usual.approve.value)
    rules = submission.approve_rules
    return looser or (rules is not None and ("auto" in rules.values() or bool(usual.approve_rules)))


def _usual_limits(usual: Settings) -> dict[str, Any]:
    """The limits of the process as a person would have given them."""
    limits = usual.limits
    return {
        "max_steps": limits.max_steps,
        "max_workers": limits.max_workers,
        "batch_size": limits.batch_size,
        "budget": None if limits.budget_nanousd is None else usd(limits.budget_nanousd),
        "timeout": limits.timeout_s,
        "max_requests": limits.max_requests,
        "max_tokens": limits.max_tokens,
        "max_output_tokens": limits.max_output_tokens,
        "approval_timeout": limits.approval_timeout_s,
    }


def once(submission: Submission, key: str, who: str) -> IdempotentId:
    """The run that this key of this principal stands for: its id is made of both, so asking twice finds the same.

    Raises Problem (422) for a key that is none.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "invalid",
            "the Idempotency-Key is empty, too long or not printable",
            f"Give a random text of up to {LONGEST_KEY} characters, another for each request: a UUID is one.",
        )
    digest = hashlib.sha256(f"{who}\n{key}".encode()).digest()
    limits = submission.limits.model_dump(mode="json", exclude_unset=True)  # null is no limit, and no omission
    body = json.dumps(submission.model_dump(mode="json") | {"limits": limits}, sort_keys=True, separators=(",", ":"))
    return IdempotentId(
        run_id=f"run_{str(ULID.from_bytes(digest[:16])).lower()}",
        submission=hashlib.sha256(body.encode()).hexdigest(),
    )
