"""Only public pages are fetched, whatever a URL, a name server, a redirect or a body tries."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from names import Names

from leadhand.core.errors import FailureClass, ToolError
from leadhand.tools.web.fetching import MOST_BYTES, PageFetcher, is_public

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HERE = "127.0.0.1"
"""The one address of this machine that counts as public in these tests; all others are refused as usual."""


class Site:
    """A server on this machine, with one handler, and a fetcher that may reach it as ``public.test``."""

    def __init__(self) -> None:
        self.names = Names({"public.test": [[HERE]]})
        self.paths: list[str] = []
        self.handler: Handler | None = None
        self.fetcher = PageFetcher(resolver=self.names, allowed=lambda at: at == HERE or is_public(at), within_s=5)
        app = web.Application()
        app.router.add_get("/{path:.*}", self._handle)
        self.server = TestServer(app, host=HERE)

    def url(self, path: str = "/", host: str = "public.test") -> str:
        return f"http://{host}:{self.server.port}{path}"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        assert self.handler is not None
        return await self.handler(request)

    def answers(self, **response: object) -> None:
        async def handle(_: web.Request) -> web.StreamResponse:
            return web.Response(**response)  # type: ignore[arg-type]

        self.handler = handle

    async def refusal(self, url: str) -> str:
        with pytest.raises(ToolError) as refused:
            await self.fetcher.fetch(url)
        return refused.value.failure.type


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    await made.server.start_server()
    try:
        yield made
    finally:
        await made.fetcher.aclose()
        await made.server.close()


async def test_a_public_page_is_fetched_from_the_address_that_was_checked(site: Site) -> None:
    site.answers(text="hello", content_type="text/plain")
    got = await site.fetcher.fetch(site.url("/a?b=c#part"))
    assert (got.kind, got.charset, got.content) == ("text/plain", "utf-8", b"hello")
    assert got.url == site.url("/a?b=c")
    assert site.names.asked == ["public.test"]


PRIVATE = """
    0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 127.8.8.8 168.63.129.16 169.254.169.254 172.16.3.4 192.0.0.192 192.168.1.1
    198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1
    64:ff9b:1::7f00:1 2002:7f00:1:: 2002:a9fe:a9fe::1 2001:0:5ef5:79fd:0:0:80ff:fffe fc00::1 fd00:ec2::254 fe80::1
    fe80::1%eth0 2606:4700::1111%eth0 ff02::1 localhost
"""


@pytest.mark.parametrize("address", [*PRIVATE.split(), ""])
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_what_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.2", "[::1]", "[::ffff:127.0.0.2]", "[64:ff9b::7f00:2]", "0.0.0.0", "2130706434", "127.2", "0177.0.0.2",
     "0x7f.0.0.2", "0x7f000002", "localhost", "①②⑦.0.0.2"],
)  # fmt: skip
async def test_private_hosts_are_refused_in_every_form(host: str) -> None:
    fetcher = PageFetcher()  # the resolver of the operating system, which knows such forms
    try:
        with pytest.raises(ToolError) as refused:
            await fetcher.fetch(f"http://{host}:1/")
    finally:
        await fetcher.aclose()
    assert refused.value.failure.type in ("private_address", "refused_url")


@pytest.mark.parametrize(
    "url",
    ["ftp://public.test/", "file:///etc/passwd", "javascript:alert(1)", "//public.test/", "public.test", "http://", "",
     "http://public.test:99999/", "http://user@public.test/", "http://user:password@public.test/", "http://[::1"],
)  # fmt: skip
async def test_other_urls_are_refused(url: str, site: Site) -> None:
    assert await site.refusal(url) == "refused_url"
    assert site.names.asked == []


async def test_only_the_public_addresses_of_a_name_are_connected_to(site: Site) -> None:
    site.names.answers["mixed.test"] = [["127.0.0.2", HERE], ["127.0.0.2", "10.0.0.1"]]
    site.answers(text="public")
    assert (await site.fetcher.fetch(site.url(host="mixed.test"))).content == b"public"
    assert await site.refusal(site.url(host="mixed.test")) == "private_address"
    assert site.paths == ["/"]


async def test_a_name_that_changes_after_the_check_changes_nothing(site: Site) -> None:
    site.names.answers["rebinding.test"] = [[HERE], ["127.0.0.2"]]
    site.answers(text="public")
    assert (await site.fetcher.fetch(site.url(host="rebinding.test"))).content == b"public"
    assert site.names.asked == ["rebinding.test"]
    assert await site.refusal(site.url(host="rebinding.test")) == "private_address"


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("http://127.0.0.2:{port}/", "private_address"),
        ("http://[::1]:{port}/", "private_address"),
        ("http://private.test:{port}/", "private_address"),
        ("//private.test:{port}/", "private_address"),
        ("file:///etc/passwd", "refused_url"),
        ("http://user:password@public.test:{port}/", "refused_url"),
    ],
)
async def test_a_redirect_is_checked_again(location: str, kind: str, site: Site) -> None:
    site.names.answers["private.test"] = [["127.0.0.2"]]
    site.answers(status=302, headers={"Location": location.format(port=site.server.port)})
    assert await site.refusal(site.url("/start")) == kind
    assert site.paths == ["/start"]


async def test_redirects_are_followed_five_times(site: Site) -> None:
    async def count_down(request: web.Request) -> web.StreamResponse:
        left = int(request.path.strip("/"))
        if left:
            raise web.HTTPFound(f"/{left - 1}")
        return web.Response(text="here")

    site.handler = count_down
    got = await site.fetcher.fetch(site.url("/5"))
    assert (got.url, got.content) == (site.url("/0"), b"here")
    assert await site.refusal(site.url("/6")) == "too_many_redirects"


async def test_cookies_are_not_kept(site: Site) -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Cookie", ""))
        return web.Response(text="x", headers={"Set-Cookie": "a=b"})

    site.handler = handle
    await site.fetcher.fetch(site.url())
    await site.fetcher.fetch(site.url())
    assert seen == ["", ""]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compressed_pages_are_read(coding: str, site: Site) -> None:
    packed = gzip.compress(b"page" * 1000) if coding == "gzip" else zlib.compress(b"page" * 1000)
    site.answers(body=packed, headers={"Content-Encoding": coding, "Content-Type": "text/plain"})
    assert (await site.fetcher.fetch(site.url())).content == b"page" * 1000


async def test_a_gzip_bomb_is_stopped(site: Site) -> None:
    bomb = gzip.compress(bytes(20 * MOST_BYTES), 1)
    assert len(bomb) < MOST_BYTES
    site.answers(body=bomb, headers={"Content-Encoding": "gzip"})
    assert await site.refusal(site.url()) == "body_too_large"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip"])
async def test_other_encodings_are_refused(coding: str, site: Site) -> None:
    site.answers(body=b"x", headers={"Content-Encoding": coding})
    assert await site.refusal(site.url()) == "bad_encoding"


async def test_a_body_that_is_not_what_it_says_is_refused(site: Site) -> None:
    site.answers(body=b"no gzip at all", headers={"Content-Encoding": "gzip"})
    assert await site.refusal(site.url()) == "bad_encoding"


async def test_an_endless_body_is_stopped(site: Site) -> None:
    async def pour(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(bytes(1_000_000))

    site.handler = pour
    assert await site.refusal(site.url()) == "body_too_large"


async def test_a_slow_body_is_stopped_by_the_time_of_everything_together(site: Site) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.02)

    site.handler = drip
    with pytest.raises(ToolError) as stopped:
        await site.fetcher.fetch(site.url(), within_s=0.3)
    assert stopped.value.failure.type == "timeout"


@pytest.mark.parametrize(
    ("status", "class_"),
    [
        (403, FailureClass.UNAVAILABLE),
        (404, FailureClass.UNAVAILABLE),
        (429, FailureClass.RATE_LIMITED),
        (503, FailureClass.TRANSIENT),
    ],
)
async def test_an_error_of_the_server_has_its_class(status: int, class_: FailureClass, site: Site) -> None:
    site.answers(status=status, headers={"Retry-After": "7"})
    with pytest.raises(ToolError) as failed:
        await site.fetcher.fetch(site.url("/page?token=secret"))
    assert (failed.value.failure.type, failed.value.failure.class_) == (f"http_{status}", class_)
    assert "secret" not in failed.value.failure.message


async def test_a_host_that_does_not_exist_is_a_failed_connection(site: Site) -> None:
    assert await site.refusal(site.url(host="absent.test")) == "connection"


async def test_proxies_are_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    site.answers(text="direct")
    assert (await site.fetcher.fetch(site.url())).content == b"direct"
