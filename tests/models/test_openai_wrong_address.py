"""A wrong address or name says what is wrong and what would be right."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from asking import asking
from http_client import answering

from leadhand.core.errors import Failure
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.testing.faults import Served, status, web_page
from leadhand.testing.model_server import ScriptedServer

TALK = asking({"task": "compose"}, model="openai_compatible:llama4")
UNKNOWN = status(404, "The model `llama4` does not exist", kind="model_not_found")


async def failure_of(models: OpenAICompatible) -> Failure:
    with pytest.raises(ModelError) as caught:
        await models.ask(TALK)
    await models.aclose()
    assert "\n" not in caught.value.failure.message + caught.value.failure.next_action
    return caught.value.failure


async def failure_from(served: Served, *listed: str) -> Failure:
    async with ScriptedServer([served], models=listed) as server:
        return await failure_of(OpenAICompatible(server.base_url))


async def test_a_model_that_does_not_exist_names_those_that_do_the_nearest_first() -> None:
    failure = await failure_from(UNKNOWN, "gemma", "qwen3", "llama3.1")
    assert (failure.class_, failure.type) == ("unavailable", "unknown_model")
    assert "'llama4'" in failure.message
    assert failure.next_action.endswith("llama3.1, gemma, qwen3")


async def test_of_many_models_a_few_are_named() -> None:
    failure = await failure_from(UNKNOWN, *(f"m{n}" for n in range(300)))
    assert "292" in failure.next_action


async def test_a_server_that_lists_nothing_is_believed() -> None:
    failure = await failure_from(UNKNOWN)
    assert (failure.class_, failure.type) == ("unavailable", "unknown_model")
    assert "`llama4`" in failure.message


async def test_a_model_that_is_listed_and_refused_all_the_same_keeps_the_servers_words() -> None:
    assert "`llama4`" in (await failure_from(UNKNOWN, "llama4")).message


async def test_a_base_url_that_lacks_v1_is_found_out() -> None:
    async with ScriptedServer() as server:
        root = server.base_url.removesuffix("/v1")
        failure = await failure_of(OpenAICompatible(root))
    assert (failure.class_, failure.type) == ("unavailable", "not_an_api")
    assert root in failure.message
    assert f"{root}/v1" in failure.next_action


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "<!DOCTYPE html><p>Welcome", "content_type": "text/html"},
        {"text": "<html>Not Found", "content_type": "text/html", "status": 404},
        {"text": "", "status": 302, "headers": {"Location": "https://elsewhere.example/login"}},
        {"text": '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}'},  # LM Studio
        {"text": "Method Not Allowed", "status": 405},
    ],
)
async def test_what_is_no_api_is_said_to_be_none(answer: dict[str, Any]) -> None:
    async def say(_: web.Request) -> web.Response:
        return web.Response(**answer)

    async with answering(say) as url:
        bare = await failure_of(OpenAICompatible(url))
        deep = await failure_of(OpenAICompatible(f"{url}/v1"))
    for failure in (bare, deep):
        assert (failure.class_, failure.type) == ("unavailable", "not_an_api")
    assert f"{url}/v1" in bare.next_action


async def test_a_web_page_that_names_the_key_does_not_show_it() -> None:
    async with ScriptedServer([web_page(404)], models=["gemma"]) as server:
        models = OpenAICompatible(server.base_url, "sk-very-secret-key")
        assert "sk-very" not in (await failure_of(models)).message
