"""The body of POST /api/runs, and the settings that a run gets from it."""

from __future__ import annotations

import hashlib
import json
import operator
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from leadhand.app.arguments import (
    CONTROL,
    LONGEST_NAME,
    LONGEST_REQUEST,
    LONGEST_TAG,
    MOST_TAGS,
    TAG_KEY,
    Approvals,
    Policies,
    approvals,
    check_request,
)
from leadhand.app.arguments import name as checked_name
from leadhand.app.project.flows import led
from leadhand.app.runtime.clock import IdempotentId, run_id_of
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import Settings
from leadhand.app.steering.access import Scope, allows
from leadhand.app.steering.follow_ups import options_of, output_of
from leadhand.core.errors import UsageError
from leadhand.core.limits import Limits, highest_limits, without_defaults
from leadhand.core.run import EarlierMessage, RunDefinition, WorkerCalls
from leadhand.core.tool import ApprovalPolicy
from leadhand.core.value import unset
from leadhand.core.work_result import Check
from leadhand.server.access import Principal
from leadhand.server.problems import Problem

EXAMPLE = '{"request": "What is the weather in Paris?"}'
MODEL = "Use provider:name or offline, or omit it."
STRICTER = ("auto", "ask", "never")
"""The approval policies, the loosest first."""


class Body(BaseModel):
    """A request body. Unknown fields and values of another type (``"3"`` for a number) are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema without defaults: generated clients would send them, or ask for them."""
        schema = handler(core_schema)
        without_defaults(handler.resolve_ref_schema(schema))
        return schema


LIMITS: Any = Field(
    default=Limits(),
    description="A missing limit is as the server has it. Higher limits, and null, which removes one, need the scope"
    " admin.",
)


LINE = rf"[^{CONTROL}\u2028\u2029]"
"""A character of a line of a name or a tag, as a regular expression."""
TAG_VALUE = f"{LINE}{{0,{LONGEST_TAG}}}"
Name = Annotated[str, StringConstraints(pattern=f"^{LINE}{{0,{LONGEST_NAME}}}$")]
TagValue = Annotated[str, StringConstraints(pattern=f"^{TAG_VALUE}$")]
_Value = TypeVar("_Value")


def _named(schema: dict[str, Any]) -> None:
    """Say which keys tags have in the way that generators of clients understand."""
    [(pattern, schema["additionalProperties"])] = schema.pop("patternProperties").items()
    schema["propertyNames"] = {"pattern": pattern}


Tagged = Annotated[
    dict[Annotated[str, StringConstraints(pattern=f"^{TAG_KEY}$")], _Value],
    Field(max_length=MOST_TAGS, json_schema_extra=_named),
]
Request = Annotated[str, StringConstraints(max_length=LONGEST_REQUEST, pattern=r"^[^\x00]*$")]
READABLE = r"^[^\x00]*[^\x00\s][^\x00]*$"
"""A request: not only white space, and without NUL, which databases cannot store."""
NAME: Any = Field("", exclude_if=operator.not_, description="Lists show it in place of the request. One line.")
"""Left out where it is empty, as tags are, so that the digest of a request that has none stays the same."""


class Submission(Body):
    """A request to start a run."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"inputs": {"type": "array"}}, "required": ["inputs"]},
            "then": {"properties": {"worker": {"type": "string"}}, "required": ["worker"]},
            "else": {"properties": {"request": {"pattern": READABLE}}, "required": ["request"]},
            "examples": [
                {"request": "What is the weather in Paris tomorrow, and how do I get from the Louvre to Orly?"},
                {
                    "request": "What is the weather in Paris, Lyon and Nice tomorrow?",
                    "flow": "work-order",
                    "offline": True,
                    "limits": {"budget": 0.5, "timeout": 300, "max_workers": 8},
                    "approve": "ask",
                },
            ],
        }
    )

    flow: str = Field("work-order", description="The name of the flow.")
    worker: str | None = Field(
        None, exclude_if=unset, description="A worker of the project that carries out the request by itself."
    )
    inputs: list[Any] | None = Field(
        None,
        exclude_if=unset,
        description="Texts or objects, each of which the worker carries out. `value` of the run is the list of their"
        " results, null for a failed one, which is a gap.",
    )
    request: Request = Field(
        "", description="The request in natural language. Required without `inputs`.", validate_default=True
    )
    messages: list[EarlierMessage] = Field(
        [],
        exclude_if=operator.not_,
        description="The messages of the conversation that led to the request, the oldest first.",
    )
    name: Name = NAME
    tags: Tagged[TagValue] = Field({}, exclude_if=operator.not_, description='For example {"team": "data"}.')
    model: str | None = Field(None, description="The model of every worker, as provider:name. Default: the server's.")
    lead_model: str | None = Field(None, description="The model that plans, reviews and writes the answer.")
    worker_model: str | None = Field(None, description="The model of the workers.")
    review_model: str | None = Field(None, description="The model that reviews results.")
    offline: bool = Field(
        False,
        description="Use the built-in rule-based model and sample data, as a server with --offline does for every run.",
    )
    only_documents: bool = Field(
        False, exclude_if=operator.not_, description="Search the server's documents only, and nothing on the web."
    )
    limits: Limits = LIMITS
    approve: Policies | None = Field(
        None,
        description="What to do with calls that need approval: a policy, or policies by what they match, of which the"
        ' first counts: {"tool:send_*": "auto", "*": "ask"}. Default: as the server has it.',
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the flow. Unknown or invalid options are refused."
    )
    instructions: str | dict[str, str] | None = Field(
        None,
        exclude_if=unset,
        description="Added to the instructions of every worker, or of workers by name.",
    )
    tools: list[str] | None = Field(None, exclude_if=unset, description="The only tools that the run may use, by name.")
    plan_only: bool = Field(
        False,
        exclude_if=operator.not_,
        description="Plan and wait; resuming the run or approving the plan carries it out.",
    )
    approve_plan: bool = Field(
        False, exclude_if=operator.not_, description="Wait until a person approves the plan before any work begins."
    )
    check: Check | None = Field(
        None, exclude_if=unset, description="Who checks the answer. Default: the server's setting, else a judge."
    )
    strict: bool = Field(False, exclude_if=operator.not_, description="Let doubts about the answer make it partial.")
    worker_calls: WorkerCalls | None = Field(
        None,
        exclude_if=unset,
        description="Let a model write the result of every subtask (always), or only where what the tool returned is"
        " not enough (auto). Default: the server's setting, else auto.",
    )
    output_schema: dict[str, Any] | None = Field(
        None,
        exclude_if=unset,
        description="The JSON schema of an object: `value` of the run is the answer in that shape.",
    )

    @field_validator("inputs")
    @classmethod
    def _have_a_worker(cls, inputs: list[Any] | None, info: ValidationInfo) -> list[Any] | None:
        if inputs is not None and info.data.get("worker") is None:
            raise ValueError("send the worker that carries out each input")
        return inputs

    @field_validator("request")
    @classmethod
    def _is_there(cls, request: str, info: ValidationInfo) -> str:
        if not request.strip() and info.data.get("inputs") is None:
            raise PydanticCustomError("missing", "it is required without inputs")
        return request


def of_worker(submission: Submission) -> Submission:
    """Return a request that names a worker as one that names its flow, with its options. Raises UsageError."""
    if submission.worker is None and submission.inputs is None:
        return submission
    asked = submission.worker, submission.inputs
    found = led(submission.request, submission.flow, submission.options, worker=asked[0], inputs=asked[1])
    check = submission.check or (None if submission.inputs is None else "off")
    same = {"request": found.request, "flow": found.flow, "options": found.options, "check": check}
    return submission.model_copy(update={**same, "worker": None, "inputs": None})


class FollowUp(Body):
    """A request to start a run that follows up another one. What is missing is as in that run."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"request": "And the day after?"}]})

    request: str = Field(description="The request in natural language.", pattern=READABLE, max_length=LONGEST_REQUEST)
    flow: str | None = Field(None, description="Another flow.")
    name: Name = NAME
    tags: Tagged[TagValue] = Field({}, description="Further tags, and other values for tags of the earlier run.")
    model: str | None = Field(None, description="Another model of every worker, as provider:name.")
    limits: Limits = LIMITS
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the flow, each in place of that of the earlier run."
    )
    output_schema: dict[str, Any] | None = Field(None, description="Another JSON schema of the answer.")


def followed_up(body: FollowUp, earlier: RunDefinition, usual: Settings, principal: Principal) -> Submission:
    """Return a follow-up as a request to start a run, which may only have what the principal may ask for.

    The limits of the earlier run are lowered to the highest that are allowed.
    """
    before, plain = earlier.limits.within(most_of(principal, usual)), principal.ceilings.narrow(usual.limits)
    kept = before.only([name for name, value in before if value != getattr(plain, name)])
    offline = earlier.offline and body.model is None
    given = {
        "request": body.request,
        "flow": body.flow or earlier.flow,
        "model": body.model or (None if offline or usual.offline else earlier.models.default),
        **({"offline": True} if offline else {}),
        **({"check": earlier.check} if earlier.offline == (offline or usual.offline) else {}),
        "strict": earlier.strict,
        "worker_calls": earlier.worker_calls,
        "only_documents": earlier.only_documents,
        "limits": kept.patched(body.limits),
        "options": options_of(earlier, body.flow or "", body.options),
        "output_schema": body.output_schema or output_of(earlier),
        "name": body.name,
        "tags": body.tags,
    }
    return Submission.model_validate(given)


def asked_for(submission: Submission, runtime: Runtime, principal: Principal) -> tuple[str, Settings]:
    """Return the checked request and the settings of its run. Raises UsageError, and Problem (403) above a ceiling."""
    request = check_request(submission.request, example=EXAMPLE)
    by_use = {
        use: each
        for use in ("lead", "worker", "review")
        if (each := checked_name(getattr(submission, f"{use}_model"), f"{use}_model", MODEL)) is not None
    }
    model = checked_name(submission.model, "model", MODEL)
    usual = runtime.settings
    offline = submission.offline or usual.offline
    if offline and any(each != "offline" for each in (model, *by_use.values()) if each is not None):
        if submission.offline:
            raise UsageError("offline cannot be combined with a model", "Send either offline or a model.")
        raise UsageError(
            "this server runs offline and cannot use another model",
            "Omit the model, or start the server without --offline.",
        )
    ceilings = principal.ceilings
    check_ceilings(submission.limits, usual, principal)
    return request, replace(
        usual,
        model="offline" if offline else model or runtime.choice.models.default,
        models={} if offline else by_use or ({} if model else usual.models),
        offline=offline,
        only_documents=usual.only_documents or submission.only_documents,
        limits=ceilings.narrow(usual.limits).patched(submission.limits),
        budgets=ceilings.budgets(principal.key_id or ""),
        shared=ceilings.shared(principal.key_id or ""),
        check=submission.check or usual.check,
        strict=usual.strict or submission.strict,
        worker_calls=submission.worker_calls or usual.worker_calls,
        **approvals(submission.approve),
    )


def most_of(principal: Principal, usual: Settings) -> Limits:
    """Return the ceilings of a principal's runs: the server's, which admin may exceed, within those of its key."""
    return principal.ceilings.narrow(highest_limits() if allows(principal.scopes, Scope.ADMIN) else usual.limits)


def check_ceilings(given: Limits, usual: Settings, principal: Principal) -> None:
    """Raise Problem (403) if a limit that was given is above the most that the principal may ask for."""
    allowed = given.within(most_of(principal, usual))
    for name in given.model_fields_set:
        if (highest := getattr(allowed, name)) != getattr(given, name):
            shown = f"{highest:.15g}" if not isinstance(highest, bool) else "false"
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "forbidden",
                f"limits.{name} is above the maximum of {shown}",
                f"Send {shown} or less, or omit it. With the scope admin, only the limits of the key apply.",
            )


def loosens(asked: Approvals, usual: Settings) -> bool:
    """Whether a run with these policies and rules may make calls that the server's would ask about."""
    policy, rules = asked.get("approve", usual.approve), asked.get("approve_rules", usual.approve_rules)
    if STRICTER.index(policy) < STRICTER.index(usual.approve):
        return True
    if list(rules.items()) == list(usual.approve_rules.items()):  # the first rule that fits counts
        return False
    return ApprovalPolicy.AUTO in rules.values() or bool(usual.approve_rules)


def once(submission: Submission, key: str, who: str) -> IdempotentId:
    """Return the run id for a principal's idempotency key: the same key always gives the same id."""
    digest = hashlib.sha256(f"{who}\n{key}".encode()).digest()
    limits = submission.limits.model_dump(
        mode="json", include=submission.limits.model_fields_set
    )  # null differs from a missing field
    body = json.dumps(submission.model_dump(mode="json") | {"limits": limits}, sort_keys=True, separators=(",", ":"))
    return IdempotentId(
        run_id=run_id_of(digest[:16]),
        submission=hashlib.sha256(body.encode()).hexdigest(),
    )
