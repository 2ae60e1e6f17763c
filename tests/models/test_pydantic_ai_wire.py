"""Anthropic's and Google's own protocols over real HTTP: answers and every fault, each classed, none silent."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from asking import GIVE_UP, WEATHER, asking, planning, spec
from native_servers import MODELS, SERVERS, Answer, Fault, Script, Serving, answered_by

from leadhand.core.conversation import ToolMessage
from leadhand.core.errors import FailureClass
from leadhand.core.limits import Usage
from leadhand.models.offline import OfflineModels
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError
from leadhand.ports.models import ModelReply, ModelRequest

pytestmark = pytest.mark.parametrize("name", SERVERS)

WORK = asking("weather in Paris?", tools=[spec(WEATHER), GIVE_UP])
TALK = asking("hello")
CALL = ("call_1", "weather_tool", {"location": "Paris", "days": 2})


async def ask(name: str, script: Script, request: ModelRequest = TALK, on_text: Any = None) -> ModelReply:
    async with SERVERS[name](script).running() as server:
        router = ModelRouter(env=server.env)
        try:
            return await router.ask(request.evolve(model=MODELS[name]), on_text)
        finally:
            await router.aclose()


async def fails(name: str, serving: Serving, request: ModelRequest = TALK, on_text: Any = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(name, [serving], request, on_text)
    assert "key-1" not in caught.value.failure.message
    assert "\n" not in caught.value.failure.message
    return caught.value


class TestAnswers:
    async def test_text(self, name: str) -> None:
        reply = await ask(name, [Answer(text="18 °C")])
        assert reply.message.text == "18 °C"
        assert reply.message.opaque is None
        assert reply.finish_reason == "stop"
        assert MODELS[name].endswith(reply.model)

    async def test_tool_calls_go_out_and_their_results_come_in(self, name: str) -> None:
        script = [Answer(text="I look.", calls=(CALL,)), Answer(text="18 °C")]
        async with SERVERS[name](script).running() as server:
            router = ModelRouter(env=server.env)
            request = WORK.evolve(model=MODELS[name])
            first = await router.ask(request)
            [call] = first.message.tool_calls
            assert (call.name, call.arguments) == ("weather_tool", CALL[2])
            assert first.finish_reason == "tool_calls"
            result = ToolMessage(call_id=call.id, name=call.name, content='{"temperature": 18}')
            messages = (*request.messages, first.message, result)
            assert (await router.ask(request.evolve(messages=messages))).message.text == "18 °C"
            await router.aclose()
            read = server.read(server.bodies[1], "m")
        assert [message.role for message in read.messages] == ["system", "user", "assistant", "tool"]
        assert [tool.name for tool in read.tools] == ["weather_tool", "give_up"]
        assert read.tools[0].parameters["required"] == ["location"]

    async def test_thinking_comes_back_signed_as_it_was_given(self, name: str) -> None:
        script = [Answer(thinking=(("The tool knows.", "c2lnbmVk"),), calls=(CALL,)), Answer(text="18 °C")]
        async with SERVERS[name](script).running() as server:
            router = ModelRouter(env=server.env)
            request = WORK.evolve(model=MODELS[name])
            first = await router.ask(request)
            assert first.message.opaque is not None
            assert "knows" not in first.message.text
            # As from the log: through JSON.
            kept = type(first.message).model_validate_json(first.message.model_dump_json())
            [call] = kept.tool_calls
            result = ToolMessage(call_id=call.id, name=call.name, content="18")
            await router.ask(request.evolve(messages=(*request.messages, kept, result)))
            await router.aclose()
            assert "c2lnbmVk" in str(server.bodies[1])
            assert "The tool knows." in str(server.bodies[1])

    async def test_a_structured_answer(self, name: str) -> None:
        reply = await ask(name, answered_by(OfflineModels()), planning("weather in Paris"))
        assert isinstance(reply.value, dict)
        [subtask] = reply.value["subtasks"]
        assert subtask["args"]["location"] == "Paris"  # a schema that forbids unnamed properties would empty this
        assert reply.message.tool_calls == ()

    async def test_text_is_streamed_as_it_is_written(self, name: str) -> None:
        heard: list[str] = []
        answer = Answer(thinking=(("hm", "c2ln"),), text="Paris: 18 °C and sunny", calls=(CALL,))
        reply = await ask(name, [answer], WORK, heard.append)
        assert len(heard) > 1
        assert "".join(heard) == reply.message.text == "Paris: 18 °C and sunny"
        assert [call.arguments for call in reply.message.tool_calls] == [CALL[2]]
        assert reply.usage.output_tokens == 20

    async def test_a_structured_answer_is_streamed_in_any_form(self, name: str) -> None:
        heard: list[str] = []
        reply = await ask(name, answered_by(OfflineModels()), planning("weather in Paris"), heard.append)
        assert reply.value is not None
        if name != "google":  # sends the arguments of a call in one piece
            assert json.loads("".join(heard)) == reply.value

    async def test_usage_counts_cached_input_at_its_own_price(self, name: str) -> None:
        plain = (await ask(name, [Answer(text="x", sent=1_000)])).usage
        cached = (await ask(name, [Answer(text="x", sent=1_000, cached=900)])).usage
        assert plain.input_tokens == cached.input_tokens == 1_000
        assert plain.output_tokens == cached.output_tokens == 20
        assert plain.nanousd is not None
        assert cached.nanousd is not None
        assert 0 < cached.nanousd < plain.nanousd

    async def test_the_bound_of_the_answer_is_always_sent_and_the_key_only_in_a_header(self, name: str) -> None:
        async with SERVERS[name]([Answer(text="x")]).running() as server:
            router = ModelRouter(env=server.env)
            await router.ask(TALK.evolve(model=MODELS[name], max_tokens=77))
            await router.aclose()
            assert "77" in str(server.bodies[0])
            assert "key-1" not in str(server.bodies[0]) + server.paths[0]
            assert "key-1" in str(server.headers[0])

    async def test_settings_are_sent_if_they_are_set(self, name: str) -> None:
        async with SERVERS[name]([Answer(text="x"), Answer(text="x")]).running() as server:
            router = ModelRouter(env=server.env)
            request = TALK.evolve(model=MODELS[name])
            await router.ask(request)
            temperature = 0.25 if name == "google" else None  # the other model accepts none
            await router.ask(request.evolve(temperature=temperature, reasoning_effort="low"))
            await router.aclose()
        plain, chosen = (str(body).casefold() for body in server.bodies)
        assert not {each for each in ("0.25", "'low'") if each in plain}
        assert "'low'" in chosen
        assert temperature is None or "0.25" in chosen

    async def test_a_model_moved_elsewhere_needs_no_key(self, name: str) -> None:
        async with SERVERS[name]([Answer(text="x")]).running() as server:
            router = ModelRouter(env={server.url_variable: server.base_url})
            assert (await router.ask(TALK.evolve(model=MODELS[name]))).message.text == "x"
            await router.aclose()

    async def test_many_calls_at_once_do_not_disturb_each_other(self, name: str) -> None:
        async with SERVERS[name](lambda request: Answer(text=request.messages[-1].text)).running() as server:
            router = ModelRouter(env=server.env)
            asked = [asking(f"number {n}", model=MODELS[name]) for n in range(20)]
            replies = await asyncio.gather(*(router.ask(request) for request in asked))
            await router.aclose()
        assert [reply.message.text for reply in replies] == [f"number {n}" for n in range(20)]


NATIVE: dict[str, dict[str, tuple[str, str]]] = {
    "anthropic": {
        "slow down": ("rate_limit_error", "slow down, key-1"),
        "quota": ("invalid_request_error", "Your credit balance is too low to access the API"),
        "too long": ("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    },
    "google": {
        "slow down": ("RESOURCE_EXHAUSTED", "slow down, key-1"),
        "quota": ("FAILED_PRECONDITION", "enable billing"),
        "too long": (
            "INVALID_ARGUMENT",
            "The input token count (2000000) exceeds the maximum number of tokens allowed",
        ),
    },
}
"""How each protocol says it."""
PAGE: dict[str, Any] = {"body": "<!doctype html><html>hi</html>", "content_type": "text/html"}
NO_ANSWERS = (b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"content": 1, "candidates": 1}')
C = FailureClass


class TestFaults:
    @pytest.mark.parametrize(
        ("serving", "class_", "type_", "words"),
        [
            (Fault(status=402, error=("quota", "")), C.UNAVAILABLE, "quota", ""),
            (Fault(status=401, error=("authentication_error", "no")), C.UNAVAILABLE, "bad_key", "_API_KEY"),
            (Fault(status=403, error=("authentication_error", "no")), C.UNAVAILABLE, "bad_key", "_API_KEY"),
            (
                Fault(status=404, error=("not_found_error", "nobody")),
                C.UNAVAILABLE,
                "unknown_model",
                "name of the model",
            ),
            (Fault(status=400, error=("too long", "")), C.TOO_LARGE, "", ""),
            (Fault(status=400, error=("invalid_request_error", "bad schema")), C.INVALID, "", "bad schema"),
            *((Fault(body=body), C.TRANSIENT, "", "") for body in NO_ANSWERS),
            (Fault(status=404, **PAGE), C.UNAVAILABLE, "not_an_api", ""),
            (Fault(status=502, **PAGE), C.TRANSIENT, "", ""),
            (Fault(status=302, headers={"Location": "http://127.0.0.1:9/"}), C.TRANSIENT, "", "302"),
            (Answer(), C.TRANSIENT, "empty_answer", ""),
            (Answer(finish="length"), C.INVALID, "cut_answer", ""),
            (Answer(text="and then", finish="length"), C.INVALID, "cut_answer", ""),
            (Answer(finish="filter"), C.INVALID, "content_filter", ""),
        ],
        ids=str,
    )
    async def test_each_fault_is_one_classed_failure(
        self, name: str, serving: Serving, class_: FailureClass, type_: str, words: str
    ) -> None:
        if isinstance(serving, Fault) and serving.error[0] in NATIVE[name]:
            status = 400 if (name, type_) == ("anthropic", "quota") else serving.status
            serving = replace(serving, status=status, error=NATIVE[name][serving.error[0]])
        found = (await fails(name, serving)).failure
        assert (found.class_, found.type) == (class_, type_ or found.type)
        assert words.format(name=name) in f"{found.message} {found.next_action}"

    @pytest.mark.parametrize("headers", [{"Retry-After": "7"}, {}])
    async def test_a_rate_limit_says_how_long_to_wait_and_costs_nothing(
        self, name: str, headers: dict[str, str]
    ) -> None:
        error = await fails(name, Fault(status=429, error=NATIVE[name]["slow down"], headers=headers))
        assert error.failure.class_ is FailureClass.RATE_LIMITED
        assert error.failure.retry_after_s == (7 if headers else None)
        assert error.usage == Usage(requests=1, nanousd=0)

    @pytest.mark.parametrize("status", [500, 503, 529])
    async def test_trouble_of_the_provider_is_transient_and_the_engines_to_try_again(
        self, name: str, status: int
    ) -> None:
        async with SERVERS[name]([Fault(status=status, error=("api_error", "overloaded"))]).running() as server:
            router = ModelRouter(env=server.env)
            with pytest.raises(ModelError) as caught:
                await router.ask(TALK.evolve(model=MODELS[name]))
            await router.aclose()
            assert len(server.bodies) == 1  # nothing beneath tried again
        assert caught.value.failure.class_ is FailureClass.TRANSIENT

    async def test_a_structured_answer_that_was_cut_off_is_invalid(self, name: str) -> None:
        error = await fails(name, Answer(text='{"goal": "x', finish="length"), planning("weather in Paris"))
        assert (error.failure.class_, error.failure.type) == (FailureClass.INVALID, "cut_answer")

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_an_answer_that_ends_too_soon_is_transient(self, name: str, streamed: bool) -> None:
        cut = {"anthropic": 700, "google": 400}[name] if streamed else 100
        listener = (lambda _: None) if streamed else None
        error = await fails(name, Fault(answer=Answer(text="x" * 500), cut=cut), on_text=listener)
        assert error.failure.class_ is FailureClass.TRANSIENT
        assert streamed or error.usage is None  # it may be on the bill all the same

    async def test_a_hang_ends_at_the_deadline_and_the_request_is_closed(self, name: str) -> None:
        script = [Answer(text="ready"), Fault(seconds=60), Answer(text="x")]
        async with SERVERS[name](script).running() as server:
            router = ModelRouter(env=server.env)
            request = TALK.evolve(model=MODELS[name])
            await router.ask(request)  # so that the short deadline measures the server and not the import
            with pytest.raises(ModelError) as caught:
                await router.ask(request.evolve(deadline_s=0.3))
            assert caught.value.failure.class_ is FailureClass.TRANSIENT
            assert caught.value.usage is None
            assert (await router.ask(request)).message.text == "x"
            await router.aclose()
        assert server.abandoned == 1

    async def test_cancelling_closes_the_request(self, name: str) -> None:
        async with SERVERS[name]([Fault(seconds=60)]).running() as server:
            router = ModelRouter(env=server.env)
            task = asyncio.create_task(router.ask(TALK.evolve(model=MODELS[name])))
            await server.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await router.aclose()
        assert server.abandoned == 1
