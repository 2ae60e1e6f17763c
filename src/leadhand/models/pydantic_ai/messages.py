"""Convert requests to pydantic-ai's messages and settings, and its answers to our replies: pure functions.

What a provider needs back from its own answer (thinking with its signatures, signatures of calls) is kept as the JSON
that pydantic-ai itself writes and reads, in :class:`~leadhand.core.conversation.Opaque`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as LibraryRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from leadhand.core.conversation import (
    AssistantMessage,
    Message,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from leadhand.core.limits import Usage
from leadhand.models.answers import (
    answer_function,
    clean,
    counted_usage,
    decode_json,
    object_schema,
    structured_answer,
    token_count,
    tool_call,
)
from leadhand.models.failures import failed, finished
from leadhand.models.prices import known_profile
from leadhand.ports.models import ModelReply, ModelRequest

ENDED_EARLY = "the answer ended too early"
_MARKED = ("anthropic", "bedrock")
"""The providers whose cache needs markers."""


def conversation(messages: Iterable[Message], *, adapter: str, model: str) -> list[ModelMessage]:
    """Our messages as theirs. ``adapter`` and the full name of the ``model`` select the opaque data to include."""
    translated: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            translated.append(_response(message, adapter, model))
            parts = []
            continue
        if not parts:  # one request for all messages between two answers
            translated.append(LibraryRequest(parts=parts))
        parts.append(_request_part(message))
    return translated


def _request_part(message: SystemMessage | UserMessage | ToolMessage) -> ModelRequestPart:
    match message:
        case SystemMessage():
            return SystemPromptPart(content=clean(message.text))
        case UserMessage():
            return UserPromptPart(content=clean(message.text))
        case ToolMessage():
            return ToolReturnPart(
                tool_name=message.name,
                content=clean(message.content),
                tool_call_id=message.call_id,
                outcome="success" if message.ok else "failed",
            )


def _response(message: AssistantMessage, adapter: str, model: str) -> ModelResponse:
    """An answer as the provider gave it, if it came from the same model, else its text and calls."""
    text: list[ModelResponsePart] = [TextPart(message.text)] if message.text else []
    # Arguments that are not valid JSON are sent as text; the adapters wrap them so that a provider accepts them.
    calls = [
        ToolCallPart(call.name, call.raw if call.arguments is None else call.arguments, call.id)
        for call in message.tool_calls
    ]
    plain, opaque = ModelResponse([*text, *calls]), message.opaque
    if opaque is None or opaque.adapter != adapter or opaque.model != model:
        return plain
    try:
        [kept] = ModelMessagesTypeAdapter.validate_python([{**opaque.data, "kind": "response"}])
    except ValidationError:  # another release wrote it
        return plain
    args = {call.tool_call_id: call.args for call in calls}
    called = [part.tool_call_id for part in kept.parts if isinstance(part, ToolCallPart)]
    if not isinstance(kept, ModelResponse) or called != [*args]:
        return plain
    parts = [
        replace(part, args=args[part.tool_call_id]) if isinstance(part, ToolCallPart) else part for part in kept.parts
    ]
    if "".join(part.content for part in parts if isinstance(part, TextPart)) != message.text:
        # The text of a structured answer is not the provider's: it is that of the call.
        others = [part for part in parts if not isinstance(part, TextPart)]
        at = next((n for n, part in enumerate(others) if isinstance(part, ToolCallPart)), len(others))
        parts = [*others[:at], *text, *others[at:]]
    return replace(kept, parts=parts)


def opaque_of(response: ModelResponse, calls: tuple[ToolCall, ...], *, adapter: str, model: str) -> Opaque | None:
    """Return what must be sent back unchanged with ``response``, beside the arguments of its ``calls``; None if their
    text and arguments are enough."""
    made = {call.id for call in calls}
    parts: list[TextPart | ThinkingPart | ToolCallPart] = []
    for part in response.parts:
        match part:
            case TextPart() | ThinkingPart():
                parts.append(replace(part, content=clean(part.content)))
            case ToolCallPart() if part.tool_call_id in made:
                parts.append(replace(part, args=None))
            case _:
                pass
    if not any(isinstance(part, ThinkingPart) or part.id or part.provider_details for part in parts):
        return None
    fields = {name: getattr(response, name, None) for name in ("provider_name", "canonical_system")}
    data = {"parts": [_set_fields(vars(part)) for part in parts], **_set_fields(fields)}
    return Opaque(adapter=adapter, model=model, data=decode_json(json.dumps(data, default=str)))


def _set_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def parameters(request: ModelRequest, profile: ModelProfile) -> ModelRequestParameters:
    """The tools, and the request for a structured answer: as a call, or in the prompt if the model has no tools."""
    tools = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=object_schema(tool.parameters)
        )
        for tool in request.tools
    ]
    output = request.output
    if output is None:
        return ModelRequestParameters(function_tools=tools)
    if not profile.get("supports_tools", True):
        schema = OutputObjectDefinition(json_schema=output.schema_, name=output.name)
        return ModelRequestParameters(
            function_tools=tools, output_object=schema, output_mode="prompted", allow_text_output=True
        )
    answer = ToolDefinition(
        name=answer_function(output),
        description="Returns the answer. Call it once, and write nothing else.",
        parameters_json_schema=object_schema(output.schema_),
        kind="output",
    )
    return ModelRequestParameters(
        function_tools=tools, output_tools=[answer], output_mode="tool", allow_text_output=False
    )


def settings(request: ModelRequest, model: Model) -> ModelSettings:
    """Model settings: those of the request, cache markers, and the client's own retries disabled where supported."""
    chosen = ModelSettings(max_tokens=request.max_tokens, timeout=request.deadline_s, max_retries=0)
    if request.temperature is not None:
        chosen["temperature"] = request.temperature
    if request.reasoning_effort is not None:
        chosen["thinking"] = cast("Any", request.reasoning_effort)
    for name in type(model).unsupported_settings & {"timeout", "max_retries"}:
        chosen.pop(name)
    return cast("ModelSettings", {**chosen, **_cache_markers(request)})


def _cache_markers(request: ModelRequest) -> dict[str, bool]:
    """Return the settings that mark what the provider should cache: Anthropic, also on Bedrock, caches nothing else.

    The tools and instructions are those of other workers too; the conversation is sent again after the first turn. A
    model without a known price of cache writes is not marked, because its cost could not be reserved.
    """
    provider = request.model.partition(":")[0]
    profile = known_profile(request.model) if provider in _MARKED else None
    if profile is None or profile.cache_write_nanousd is None:
        return {}
    goes_on = any(isinstance(message, AssistantMessage) for message in request.messages)
    parts = ["tool_definitions", "instructions", *(["messages"] if goes_on else [])]
    return {f"{provider}_cache_{part}": True for part in parts}


async def response_to(
    model: Model, request: ModelRequest, adapter: str, on_text: Callable[[str], None] | None
) -> ModelResponse:
    """Make one request. Its text goes to ``on_text`` as it comes; if a tool call is the only form of a structured
    answer, its arguments are the text."""
    wanted = parameters(request, model.profile)
    messages = model.prepare_messages(conversation(request.messages, adapter=adapter, model=request.model), wanted)
    chosen = settings(request, model)
    if on_text is None:
        return await model.request(messages, chosen, wanted)
    async with model.request_stream(messages, chosen, wanted) as stream:
        async for event in stream:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=text))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                ) if text:
                    on_text(clean(text))
                case (
                    PartStartEvent(part=ToolCallPart(args=str() as text))
                    | PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str() as text))
                ) if wanted.output_tools and not wanted.function_tools:
                    on_text(clean(text))
                case _:
                    pass
        response = stream.get()
    if response.finish_reason is None:
        raise failed("cut_stream", ENDED_EARLY)
    return response


def reply_of(response: ModelResponse, request: ModelRequest, *, adapter: str, usage: Usage) -> ModelReply:
    """The reply in ``response``.

    Raises :class:`~leadhand.ports.ModelError` for an answer that is empty, broken off, cut off or withheld.
    """
    if response.state != "complete":
        raise failed("cut_stream", ENDED_EARLY, usage)
    # The call with the structured answer is not a tool call of the run.
    finish = "stop" if response.finish_reason in (None, "tool_call") else response.finish_reason
    text = clean("".join(part.content for part in response.parts if isinstance(part, TextPart)))
    calls = tuple(
        tool_call(part.tool_call_id, part.tool_name, part.args)
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    value: dict[str, Any] | None = None
    if request.output is not None:
        value, text, calls = structured_answer(request.output, text, calls)
    opaque = opaque_of(response, calls, adapter=adapter, model=request.model)
    model = response.model_name or ""
    return finished(request, finish, usage, text=text, calls=calls, value=value, opaque=opaque, model=model)


def usage_of(response: ModelResponse) -> Usage | None:
    """What the provider counted, cached input included; None if it did not count, or cannot have counted right."""
    said = response.usage
    sent, written = token_count(said.input_tokens), token_count(said.output_tokens)
    cached, into_cache = token_count(said.cache_read_tokens), token_count(said.cache_write_tokens)
    return counted_usage(sent, written, empty=not response.parts, cached=cached, into_cache=into_cache)
