"""Convert requests to pydantic-ai settings, and its answers to our replies: pure functions."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from leadhand.domain.conversation import AssistantMessage, ModelReply, ModelRequest, OutputSpec, ToolCall, input_bound
from leadhand.domain.errors import FailureClass
from leadhand.domain.limits import Usage
from leadhand.models.json_values import decode_json, is_object, object_of, objects_of
from leadhand.models.openai.wire import answer_function
from leadhand.models.structured import decode_object

from .errors import broken_off, failed
from .messages import clean, opaque_of

_FINISHES = {"tool_call": "tool_calls"}  # as other adapters say it


def parameters(request: ModelRequest, profile: ModelProfile) -> ModelRequestParameters:
    """Tools, and how the structured answer is asked for: by the best way that the model's ``profile`` knows."""
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=_object(tool.parameters))
        for tool in request.tools
    ]
    output = request.output
    if output is None:
        return ModelRequestParameters(function_tools=tools)
    mode = _mode(output, profile)
    if mode == "tool":
        answer = ToolDefinition(
            name=answer_function(output),
            description="Returns the answer. Call it once, and write nothing else.",
            parameters_json_schema=_object(output.schema_),
            kind="output",
        )
        return ModelRequestParameters(
            function_tools=tools, output_tools=[answer], output_mode="tool", allow_text_output=False
        )
    return ModelRequestParameters(
        function_tools=tools,
        output_object=OutputObjectDefinition(json_schema=output.schema_, name=output.name),
        output_mode=mode,
        allow_text_output=True,
    )


def _mode(output: OutputSpec, profile: ModelProfile) -> Any:
    """``tool``, ``native`` (their JSON schema mode) or ``prompted``."""
    preferred = profile.get("default_structured_output_mode", "tool")
    tools = profile.get("supports_tools", True)
    if tools and (preferred == "tool" or _is_open(output.schema_)):
        # A native mode that is strict forbids what a schema does not name, and would empty the arguments of a plan.
        return "tool"
    if profile.get("supports_json_schema_output", False) and not _is_open(output.schema_):
        return "native"
    return "prompted"


def _is_open(schema: dict[str, Any]) -> bool:
    """Whether an object somewhere in ``schema`` may have properties that are not named there."""
    wanted = schema.get("additionalProperties")
    if wanted is True or is_object(wanted):
        return True
    if schema.get("type") == "object" and not schema.get("properties") and wanted is None:
        return True
    inner: list[Any] = []
    for field in ("properties", "$defs", "definitions"):
        inner.extend(object_of(schema.get(field)).values())
    for field in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner.extend(objects_of(schema.get(field)))
    inner.append(schema.get("items"))
    return any(_is_open(part) for part in inner if is_object(part))


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return schema if schema.get("type") == "object" else {**nothing, **schema}


def settings(request: ModelRequest, model: Model) -> ModelSettings:
    """Model settings: max_tokens, and the client's own retries disabled where supported."""
    wanted = ModelSettings(max_tokens=request.max_tokens, timeout=request.deadline_s, max_retries=0)
    unknown = type(model).unsupported_settings
    if "timeout" in unknown:
        wanted.pop("timeout", None)
    if "max_retries" in unknown:
        wanted.pop("max_retries", None)
    return wanted


def reply_of(response: ModelResponse, request: ModelRequest, *, adapter: str, usage: Usage) -> ModelReply:
    """The reply in ``response``.

    Raises :class:`~leadhand.ports.ModelError`: ``transient`` for an answer with nothing in it or broken off,
    ``invalid`` for one that was cut off by ``max_tokens`` or withheld by the provider's filter.
    """
    finish = response.finish_reason or "stop"
    finish = _FINISHES.get(finish, finish)
    text = clean("".join(part.content for part in response.parts if isinstance(part, TextPart)))
    calls = tuple(_call(part) for part in response.parts if isinstance(part, ToolCallPart))
    if response.state != "complete":
        raise broken_off(usage)
    value: dict[str, Any] | None = None
    if request.output is not None:
        value, text, calls = _structured(request.output, text, calls)
        if value is None and finish == "length":
            raise _cut(request, usage)
    if not text and not calls:
        if finish == "length":
            raise _cut(request, usage)
        if finish == "content_filter":
            raise failed(
                "the provider's content filter withheld the answer", "content_filter", FailureClass.INVALID, usage
            )
        raise failed("the model returned an empty answer", "empty_answer", FailureClass.TRANSIENT, usage)
    if finish == "length" and any(call.arguments is None for call in calls):
        raise _cut(request, usage)
    if finish in ("stop", "tool_calls"):  # the call with the structured answer is not a tool call of the run
        finish = "tool_calls" if calls else "stop"
    return ModelReply(
        message=AssistantMessage(
            text=text, tool_calls=calls, opaque=opaque_of(response, adapter=adapter, model=request.model)
        ),
        value=value,
        usage=usage,
        finish_reason=finish,
        model=response.model_name or request.model,
    )


def usage_of(response: ModelResponse, request: ModelRequest) -> Usage:
    """What the provider counted, cached input included. One that does not count is taken at the upper bound, so that a
    budget holds."""
    counted = response.usage
    if counted.input_tokens or counted.output_tokens:
        return Usage(requests=1, input_tokens=counted.input_tokens, output_tokens=counted.output_tokens)
    bound = input_bound(request.messages, request.tools, request.output)
    return Usage(requests=1, input_tokens=bound, output_tokens=request.max_tokens)


def _cut(request: ModelRequest, usage: Usage) -> Exception:
    return failed(
        f"the answer did not fit into {request.max_tokens} tokens (reasoning counts)",
        "cut_answer",
        FailureClass.INVALID,
        usage,
        next_action="raise --max-output-tokens, ask for less at once, or use a model with less reasoning",
    )


def _call(part: ToolCallPart) -> ToolCall:
    arguments, raw = _arguments(part.args)
    return ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments, raw=raw)


def _arguments(written: str | dict[str, Any] | None) -> tuple[dict[str, Any] | None, str]:
    """The arguments as an object and as text; None unless they are a JSON object."""
    if is_object(written):
        written = json.dumps(written)
    if not isinstance(written, str) or not written.strip():
        return {}, ""
    written = clean(written)
    try:
        decoded = decode_json(written, finite=True)
    except ValueError:
        return None, written
    return (decoded if is_object(decoded) else None), written


def _structured(
    output: OutputSpec, text: str, calls: tuple[ToolCall, ...]
) -> tuple[dict[str, Any] | None, str, tuple[ToolCall, ...]]:
    """The structured answer, from the call that carries it or from the text; the answer as text; the other calls."""
    name = answer_function(output)
    answers = [call for call in calls if call.name == name]
    if not answers:
        return decode_object(text), text, calls
    return answers[0].arguments, answers[0].raw, tuple(call for call in calls if call.name != name)
