"""Connections go through the right proxy, trust the right certificates, and say why when they do not come about."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from asking import asking

from leadhand.core.errors import Failure
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.models.openai.connections import proxy_for
from leadhand.ports import ModelError
from leadhand.testing.faults import fault
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import says

TALK = asking({"task": "compose"}, model="openai_compatible:scripted")


async def failure_at(url: str, *, streamed: bool = False) -> Failure:
    models = OpenAICompatible(url)
    with pytest.raises(ModelError) as caught:
        await models.ask(TALK, (lambda _: None) if streamed else None)
    await models.aclose()
    assert "\n" not in caught.value.failure.message
    return caught.value.failure


async def test_a_name_that_nobody_knows_is_named() -> None:
    failure = await failure_at("http://models.invalid/v1")
    assert "models.invalid" in failure.message


@pytest.mark.parametrize("host", ["exa..mple.com", "a" * 70 + ".com"])
async def test_a_name_that_cannot_be_one_is_no_crash(host: str) -> None:
    failure = await failure_at(f"http://{host}/v1")
    assert (failure.class_, failure.type) == ("unavailable", "bad_url")


async def test_a_connection_that_is_closed_without_an_answer_may_have_cost_something() -> None:
    async with ScriptedServer([fault("hang_up").serve()]) as server:
        models = OpenAICompatible(server.base_url)
        with pytest.raises(ModelError) as caught:
            await models.ask(TALK)
        await models.aclose()
    assert caught.value.failure.class_ == "transient"
    assert caught.value.usage is None


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "socks5h://user:secret@127.0.0.1:1080"])
async def test_a_proxy_of_another_kind_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    failure = await failure_at("http://model.invalid/v1")
    assert (failure.class_, failure.type) == ("unavailable", "proxy")
    assert "HTTP_PROXY" in failure.next_action
    assert "secret" not in failure.message


async def test_a_proxy_that_is_not_there_is_told_from_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    failure = await failure_at("http://model.invalid/v1")
    assert "127.0.0.1" in failure.message
    assert "HTTP_PROXY" in failure.next_action


def test_a_server_named_in_no_proxy_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "example.com")
    assert proxy_for("https://api.example.com/v1") is None
    assert proxy_for("https://api.example.org/v1") == "http://proxy:3128"


async def test_a_companys_certificate_is_trusted_by_the_environment(
    certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with ScriptedServer([says("in secret")], tls=tls) as server:
        models = OpenAICompatible(server.base_url)
        assert (await models.ask(TALK)).message.text == "in secret"
        await models.aclose()


async def test_a_certificate_nobody_vouches_for_is_refused_with_the_way_out(
    certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer(tls=tls) as server:
        failure = await failure_at(server.base_url)
        assert (failure.class_, failure.type) == ("unavailable", "certificate")
        assert "CA" in failure.next_action


async def test_https_to_a_server_that_speaks_plain_http_says_so() -> None:
    async with ScriptedServer() as server:
        failure = await failure_at(server.base_url.replace("http:", "https:"))
    assert failure.class_ == "unavailable"
    assert "http://" in failure.next_action


def test_a_line_break_behind_a_key_is_only_how_it_was_copied() -> None:
    OpenAICompatible("http://x/v1", "sk-key\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nno gzip",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=klingon\r\n\r\ndata: \xff\xfe\r\n\r\n",
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_is_no_http_is_one_classed_failure(answer: bytes, streamed: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        failure = await failure_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", streamed=streamed)
    assert failure.class_ == "transient"
