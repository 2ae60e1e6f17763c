"""How large a model's window is: the server is asked once, in its own words, and the environment can say it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from http_client import answering

from leadhand.core.conversation import UserMessage
from leadhand.core.errors import ConfigurationError
from leadhand.core.tool import ToolSpec
from leadhand.models.openai import server_facts
from leadhand.models.router import ModelRouter
from leadhand.ports.models import ModelRequest


class Pages:
    """A server that answers what it is told to at each path, and counts what it is asked."""

    def __init__(self, listed: dict[str, Any], **pages: Any) -> None:
        self.pages = {"/v1/models": {"data": [{"id": "other"}, {"id": "m", **listed}]}}
        self.pages.update({f"/{path.replace('__', '/')}": page for path, page in pages.items()})
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.status = 404

    async def serve(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.method == "POST":
            self.bodies.append(await request.json())
        page = self.pages.get(request.path)
        return web.json_response(page) if page is not None else web.Response(status=self.status)


@asynccontextmanager
async def routing(pages: Pages, **env: str) -> AsyncIterator[ModelRouter]:
    async with answering(pages.serve) as root:
        url = f"{root}/v1"
        async with aclosing(ModelRouter(env={"LEADHAND_BASE_URL": url, "OLLAMA_BASE_URL": url, **env})) as router:
            yield router


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        (Pages({"max_model_len": 32_768}), 32_768),  # vLLM
        (Pages({"context_length": 131_072}), 131_072),  # OpenRouter
        (Pages({"context_window": 8_192}), 8_192),  # Groq
        (Pages({"max_context_length": 65_536}), 65_536),  # Mistral
        (
            Pages({"owned_by": "llamacpp"}, props={"default_generation_settings": {"n_ctx": 4_096}}),
            4_096,
        ),
        (
            Pages({"owned_by": "organization_owner"}, api__v0__models__m={"loaded_context_length": 9_000}),
            9_000,
        ),
        (Pages({"owned_by": "library"}, api__show={"parameters": "stop x\nnum_ctx    12288"}), 12_288),
        (
            Pages(
                {"owned_by": "library"},
                api__show={"model_info": {"llama.context_length": 131_072}},
                api__ps={"models": [{"name": "m:latest", "context_length": 4_096}]},
            ),
            4_096,
        ),
        # What the model was trained with is not what is served.
        (Pages({"owned_by": "library"}, api__show={"model_info": {"llama.context_length": 131_072}}), None),
        (Pages({"max_model_len": "many"}), None),
        (Pages({}), None),
    ],
)
async def test_a_server_is_asked_in_its_own_words(pages: Pages, window: int | None) -> None:
    async with routing(pages) as router:
        assert router.profile("openai_compatible:m").window is None
        await router.learn("openai_compatible:m")
        assert router.profile("openai_compatible:m").window == window


async def test_it_is_asked_once() -> None:
    pages = Pages({})
    async with routing(pages) as router:
        await router.learn("openai_compatible:m")
        await router.learn("openai_compatible:m")
    assert pages.asked == ["/v1/models"]


LLAMACPP = {"default_generation_settings": {"n_ctx": 4_096}, "total_slots": 2}
NO_TOOLS = {"supports_tools": False, "supports_system_role": True}


async def test_slots_and_window_of_a_server_with_one_model_are_known_under_every_name() -> None:
    pages = Pages({}, props=LLAMACPP)
    pages.pages["/v1/models"] = {"data": [{"id": "/path/to/model.gguf", "owned_by": "llamacpp"}]}
    async with routing(pages) as router:
        await router.learn("openai_compatible:smol")
        profile = router.profile("openai_compatible:smol")
    assert (profile.window, profile.slots) == (4_096, 2)


async def test_a_template_without_tools_gets_them_in_words() -> None:
    pages = Pages({"owned_by": "llamacpp"}, props={**LLAMACPP, "chat_template_caps": NO_TOOLS})
    look = ToolSpec(name="look", description="Look.", parameters={"type": "object"})
    request = ModelRequest(model="openai_compatible:m", messages=(UserMessage(text="hello"),), tools=(look,))
    said = '{"tool": "look", "arguments": {}}'
    pages.pages["/v1/chat/completions"] = {
        "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9},
    }
    async with routing(pages) as router:
        await router.learn(request.model)
        reply = await router.ask(request)
    assert [call.name for call in reply.message.tool_calls] == ["look"]
    assert "tools" not in pages.bodies[-1]
    assert '{"tool": name, "arguments": ' in pages.bodies[-1]["messages"][-1]["content"]


async def test_a_server_that_was_not_there_is_asked_again() -> None:
    pages = Pages({"max_model_len": 32_768})
    listed = pages.pages.pop("/v1/models")
    pages.status = 503
    async with routing(pages) as router:
        await router.learn("openai_compatible:m")
        assert router.profile("openai_compatible:m").window is None
        pages.pages["/v1/models"] = listed
        await router.learn("openai_compatible:m")
        assert router.profile("openai_compatible:m").window == 32_768


async def test_a_server_that_hangs_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_facts, "WITHIN_S", 0.05)

    class Silent(Pages):
        async def serve(self, request: web.Request) -> web.Response:
            await asyncio.sleep(20)
            return web.Response()

    async with routing(Silent({})) as router:
        async with asyncio.timeout(15):
            await router.learn("ollama:m")
        assert router.profile("ollama:m").window is None


async def test_nobody_there_is_no_failure() -> None:
    router = ModelRouter(env={"LEADHAND_BASE_URL": "http://127.0.0.1:9/v1"})
    await router.learn("openai_compatible:m")
    await router.learn("offline")
    assert router.profile("openai_compatible:m").window is None
    await router.aclose()


async def test_the_environment_says_it_whatever_the_server_says() -> None:
    pages = Pages({"max_model_len": 32_768})
    async with routing(pages, LEADHAND_WINDOW="200_000") as router:
        await router.learn("openai_compatible:m")
        assert router.profile("openai_compatible:m").window == 200_000
        assert router.profile("offline").window != 200_000


@pytest.mark.parametrize("said", ["a lot", "-5", "1000", "1e5", "٣٢٧٦٨"])
def test_what_is_no_window_is_refused(said: str) -> None:
    router = ModelRouter(env={"LEADHAND_BASE_URL": "http://x/v1", "LEADHAND_WINDOW": said})
    with pytest.raises(ConfigurationError, match="LEADHAND_WINDOW"):
        router.profile("openai_compatible:m")
