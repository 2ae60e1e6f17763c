"""Connections go the right way, trust the right certificates, and say why when they do not come about."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from asking import asking
from native_servers import MODELS, SERVERS, Answer

from leadhand.core.errors import Failure
from leadhand.core.limits import Usage
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError

pytestmark = pytest.mark.parametrize("name", SERVERS)
TALK = asking("hello")


async def say(name: str, env: dict[str, str]) -> str:
    router = ModelRouter(env=env)
    try:
        return (await router.ask(TALK.evolve(model=MODELS[name]))).message.text
    finally:
        await router.aclose()


async def failure_at(name: str, env: dict[str, str]) -> Failure:
    with pytest.raises(ModelError) as caught:
        await say(name, env)
    assert "\n" not in caught.value.failure.message
    return caught.value.failure


async def test_a_companys_certificate_is_trusted_by_the_environment(
    name: str, certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with SERVERS[name]([Answer(text="in secret")], tls=tls).running() as server:
        assert await say(name, server.env) == "in secret"


async def test_a_certificate_nobody_vouches_for_is_refused_with_the_way_out(name: str, tls: ssl.SSLContext) -> None:
    async with SERVERS[name](tls=tls).running() as server:
        failure = await failure_at(name, server.env)
    assert (failure.class_, failure.type) == ("unavailable", "certificate")
    assert "CA" in failure.next_action


async def test_nobody_listening_is_said_with_the_address(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        await say(name, {SERVERS[name].url_variable: "http://127.0.0.1:9"})
    failure = caught.value.failure
    assert caught.value.usage == Usage(requests=1, nanousd=0)
    assert (failure.class_, failure.type) == ("transient", "connection")
    assert "at http://127.0.0.1:9" in failure.message


@pytest.mark.parametrize("host", ["models.invalid", "exa..mple.com", "a" * 70 + ".com"])
async def test_a_name_that_nobody_knows_is_no_crash(name: str, host: str) -> None:
    failure = await failure_at(name, {SERVERS[name].url_variable: f"http://{host}"})
    assert failure.type == "connection"
    assert host in failure.message


async def test_no_proxy_stands_between_this_machine_and_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    async with SERVERS[name]([Answer(text="x")]).running() as server:
        assert await say(name, server.env) == "x"


async def test_a_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with SERVERS[name]([Answer(text="by proxy")]).running() as server:
        monkeypatch.setenv("http_proxy", server.base_url)
        assert await say(name, {SERVERS[name].url_variable: "http://model.invalid"}) == "by proxy"


async def test_a_proxy_of_another_kind_is_refused_in_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("all_proxy", "socks5://user:secret@127.0.0.1:1080")
    failure = await failure_at(name, {SERVERS[name].url_variable: "http://model.invalid"})
    assert failure.class_ == "unavailable"
    assert "proxy" in failure.message.casefold()
    assert "HTTPS_PROXY" in failure.next_action
    assert "secret" not in failure.message
