"""With no model named, one is chosen by what is there, and it is said why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from leadhand.core.errors import ConfigurationError
from leadhand.models.detection import detect_model, first_model, ollama_url
from leadhand.models.openai import adapter
from leadhand.testing.model_server import ScriptedServer


async def nobody(url: str) -> str | None:
    return None


class Listed:
    """A probe that finds ``models`` by address and records where it looked."""

    def __init__(self, **models: str) -> None:
        self.models = models
        self.asked: list[str] = []

    async def __call__(self, url: str) -> str | None:
        self.asked.append(url)
        return next((name for key, name in self.models.items() if key in url), None)


async def test_with_nothing_there_it_is_the_built_in_model() -> None:
    choice = await detect_model({}, nobody)
    assert choice.name == "offline"
    assert choice.why


async def test_a_named_model_is_taken() -> None:
    env = {"LEADHAND_MODEL": "ollama:x", "OPENAI_API_KEY": "sk-1"}
    choice = await detect_model(env, nobody)
    assert choice.name == "ollama:x"
    assert "LEADHAND_MODEL" in choice.why


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-5-5"),
        ("OPENAI_API_KEY", "openai:gpt-6-luna"),
        ("GOOGLE_API_KEY", "google:gemini-3.5-flash-lite"),
        ("GEMINI_API_KEY", "google:gemini-3.5-flash-lite"),
        ("GROQ_API_KEY", "groq:openai/gpt-oss-120b"),
        ("MISTRAL_API_KEY", "mistral:mistral-small-latest"),
        ("OPENROUTER_API_KEY", "openrouter:openai/gpt-6-luna"),
        ("DEEPSEEK_API_KEY", "deepseek:deepseek-flash"),
        ("XAI_API_KEY", "xai:grok-4.3"),
    ],
)
async def test_a_key_takes_its_provider_and_asks_nobody(variable: str, name: str) -> None:
    probe = Listed(ollama="x")
    choice = await detect_model({variable: "sk-secret"}, probe)
    assert choice.name == name
    assert variable in choice.why
    assert "sk-secret" not in choice.why
    assert probe.asked == []


async def test_an_empty_key_is_no_key() -> None:
    assert (await detect_model({"OPENAI_API_KEY": ""}, nobody)).name == "offline"


async def test_without_a_key_a_local_ollama_is_taken() -> None:
    choice = await detect_model({}, Listed(**{":11434": "llama3.1:8b"}))
    assert choice.name == "ollama:llama3.1:8b"
    assert "Ollama" in choice.why


async def test_a_token_for_downloads_spends_no_money() -> None:
    assert (await detect_model({"HF_TOKEN": "k", "AWS_ACCESS_KEY_ID": "k"}, nobody)).name == "offline"


async def test_a_server_of_ones_own_comes_before_keys() -> None:
    env = {"OPENAI_BASE_URL": "http://box/v1", "OPENAI_API_KEY": "k"}
    assert (await detect_model(env, Listed(box="m"))).name == "openai_compatible:m"


async def test_a_silent_server_of_ones_own_is_named_and_its_key_goes_nowhere_else() -> None:
    env = {"OPENAI_BASE_URL": "http://box/v1", "OPENAI_API_KEY": "k"}
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        await detect_model(env, nobody)


class TestALeadhandBaseUrl:
    """An address that was set for Leadhand gives way to nothing: not to a key, and not to the toy model."""

    async def refused(self, url: str, **env: str) -> ConfigurationError:
        with pytest.raises(ConfigurationError) as caught:
            await detect_model({"LEADHAND_BASE_URL": url, "GROQ_API_KEY": "k", **env})
        assert "LEADHAND_BASE_URL" in caught.value.what
        assert "--model openai_compatible:NAME" in caught.value.how
        return caught.value

    async def test_where_nobody_listens(self) -> None:
        assert "http://127.0.0.1:9/v1" in (await self.refused("http://127.0.0.1:9/v1")).what

    @pytest.mark.parametrize(
        ("answer", "what", "how"),
        [
            (b"HTTP/1.1 401 Unauthorized\r\n\r\n", "401", "OPENAI_API_KEY"),
            (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", "", ""),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", "404", ""),
            (b'HTTP/1.1 200 OK\r\n\r\n{"data": []}', "", ""),
        ],
    )
    async def test_where_something_else_answers(self, answer: bytes, what: str, how: str) -> None:
        async with answering(answer) as url:
            error = await self.refused(url)
        assert what in error.what
        assert how in error.how

    async def test_where_the_key_is_wrong(self) -> None:
        async with answering(b"HTTP/1.1 401 Unauthorized\r\n\r\n") as url:
            error = await self.refused(url, OPENAI_API_KEY="sk-secret")
        assert "OPENAI_API_KEY" in error.how
        assert "sk-secret" not in f"{error.what} {error.how}"

    async def test_where_a_key_opens_the_list(self) -> None:
        async with answering(b'HTTP/1.1 200 OK\r\n\r\n{"data": [{"id": "m"}]}', wants="Bearer sk-1") as url:
            choice = await detect_model({"LEADHAND_BASE_URL": url, "OPENAI_API_KEY": "sk-1"})
        assert choice.name == "openai_compatible:m"

    async def test_where_the_server_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapter, "LIST_WITHIN_S", 0.05)
        async with answering(None) as url:
            assert url in (await self.refused(url)).what


@asynccontextmanager
async def answering(answer: bytes | None, *, wants: str = "") -> AsyncIterator[str]:
    """A server that answers everything that holds ``wants`` in this way, or nothing at all."""
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        if answer is None:
            await reader.read()  # until the other side hangs up
        elif wants.encode() in asked:
            writer.write(answer)
        writer.close()
        left.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        await left.wait()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("box:80", "http://box:80/v1"),
        ("http://box", "http://box:80/v1"),
        ("https://box/", "https://box:443/v1"),
        ("[::1]:1", "http://[::1]:1/v1"),
        ("http://[box", "http://127.0.0.1:11434/v1"),
        ("box:port", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollama_is_found_where_its_own_tools_would(host: str, url: str) -> None:
    assert ollama_url({"OLLAMA_HOST": host}) == url


def test_a_full_address_of_ollama_wins() -> None:
    assert ollama_url({"OLLAMA_HOST": "a", "OLLAMA_BASE_URL": "http://b/v1"}) == "http://b/v1"


class TestProbe:
    async def test_takes_the_first_model_that_is_listed(self) -> None:
        async with ScriptedServer(models=["llama3.1", "other"]) as server:
            assert await first_model(server.base_url) == "llama3.1"

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.0 200 OK\r\n\r\n<html>",
            b"HTTP/1.0 200 OK\r\n\r\n[]",
            b'HTTP/1.0 200 OK\r\n\r\n{"data": []}',
            b'HTTP/1.0 200 OK\r\n\r\n{"data": [{"name": 1}]}',
            b"HTTP/1.0 404 Not Found\r\n\r\n",
            b"SSH-2.0-OpenSSH\r\n",
            b"",
        ],
    )
    async def test_anything_else_is_nobody(self, answer: bytes) -> None:
        async with answering(answer) as url:
            assert await first_model(url) is None

    @pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "no address"])
    async def test_nobody_listening_is_nobody(self, address: str) -> None:
        assert await first_model(address) is None

    async def test_a_server_that_says_nothing_is_given_up_soon(self) -> None:
        async with answering(None) as url:
            assert await first_model(url) is None


@pytest.mark.slow
def test_choosing_a_model_imports_no_http_client() -> None:
    program = (
        "import asyncio, sys\n"
        "from leadhand.models.detection import detect_model\n"
        "print(asyncio.run(detect_model({'OLLAMA_HOST': '127.0.0.1:9'})).name, "
        "[m for m in ('aiohttp', 'ssl', 'http.client', 'urllib.request') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("offline []", "offline ['ssl']")  # asyncio itself may import ssl
