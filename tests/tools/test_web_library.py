"""The web as a library: search services on this machine, and pages with passages, snippets and a cache."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from names import Names

from leadhand.app.runtime.clock import SystemClock
from leadhand.core.errors import FailureClass, ToolError
from leadhand.engine.redaction import Redactor
from leadhand.tools.web import library
from leadhand.tools.web.extraction import decoded, extracted
from leadhand.tools.web.fetching import PageFetcher
from leadhand.tools.web.library import KEPT_S, WebLibrary
from leadhand.tools.web.providers import hits
from leadhand.tools.web_client import AiohttpWeb

HERE = "127.0.0.1"
ARTICLE = "<html><head><title>{0}</title></head><body><nav>Menu</nav><article><h1>{0}</h1>{1}</article></body></html>"


def article(title: str, text: str) -> str:
    return ARTICLE.format(title, f"<p>{(text + ' ') * 8}</p>")


class Internet:
    """Tavily, Brave and some pages on one local server, and a library that may reach it as ``site.test``."""

    def __init__(self, store: Any) -> None:
        self.asked: list[web.Request] = []
        self.pages = {"/a": article("Page A", "Heat pumps move heat."), "/b": article("Page B", "Walls lose heat.")}
        self.status = {"tavily": 200, "brave": 200}
        app = web.Application()
        app.router.add_post("/tavily/search", self.tavily)
        app.router.add_get("/brave/res/v1/web/search", self.brave)
        app.router.add_get("/{page}", self.page)
        self.server = TestServer(app, host=HERE)
        self.store = store

    def open(self, **keys: str) -> None:
        base = f"http://{HERE}:{self.server.port}"
        self.env = {"LEADHAND_TAVILY_URL": f"{base}/tavily", "LEADHAND_BRAVE_URL": f"{base}/brave", **keys}
        self.web = AiohttpWeb(type(self.store)(), SystemClock(), environment=self.env)
        self.fetcher = PageFetcher(resolver=Names({"site.test": [[HERE]]}), allowed=HERE.__eq__)
        redact = Redactor(["hunter2hunter2"]).text
        self.library = WebLibrary(
            web=self.web, fetcher=self.fetcher, cache=self.store, redact=redact, environment=self.env
        )

    def url(self, path: str) -> str:
        return f"http://site.test:{self.server.port}{path}"

    async def tavily(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        body = await request.json()
        assert body == {"query": "heat", "max_results": 5, "search_depth": "basic"}
        found = [
            {"title": "Page A", "url": self.url("/a"), "content": "About A", "score": 0.9},
            {"title": "Gone", "url": self.url("/gone"), "content": "A <b>snippet</b> &amp; more."},
            {"title": "Private", "url": f"http://10.0.0.1:{self.server.port}/a", "content": ""},
            {"title": "Page A again", "url": self.url("/a"), "content": "About A"},
        ]
        return web.json_response({"query": "heat", "results": found}, status=self.status["tavily"])

    async def brave(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        assert dict(request.query) == {"q": "heat", "count": "5"}
        result = {
            "title": "Page B",
            "url": self.url("/b"),
            "description": "About B",
            "page_age": "2025-02-03T10:00:00",
            "extra_snippets": ["More about B"],
        }
        return web.json_response({"type": "search", "web": {"results": [result]}}, status=self.status["brave"])

    async def page(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        text = self.pages.get(request.path)
        return web.Response(text=text or "", content_type="text/html", status=200 if text else 404)


@pytest.fixture
async def internet(store: Any) -> AsyncIterator[Internet]:
    made = Internet(store)
    await made.server.start_server()
    made.open()
    try:
        yield made
    finally:
        await made.web.aclose()
        await made.fetcher.aclose()
        await made.server.close()


async def test_a_search_reads_the_pages_and_falls_back_to_snippets(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "EXCERPT_WITHIN_S", 60.0)  # the first page imports trafilatura
    internet.open(TAVILY_API_KEY="tvly-secret", BRAVE_API_KEY="brave-secret")
    pages = await internet.library.search("heat", 5)
    assert internet.asked[0].headers["Authorization"] == "Bearer tvly-secret"
    assert [page.url for page in pages] == [internet.url("/a"), internet.url("/gone")]
    assert "pumps move heat." in pages[0].text
    assert "Menu" not in pages[0].text
    assert (pages[1].text, pages[1].excerpt) == ("A snippet & more.", True)


async def test_brave_answers_if_tavily_cannot(internet: Internet) -> None:
    internet.open(TAVILY_API_KEY="tvly-secret", BRAVE_API_KEY="brave-secret")
    internet.status["tavily"] = 401
    [page] = await internet.library.search("heat", 5)
    assert internet.asked[1].headers["X-Subscription-Token"] == "brave-secret"
    assert (page.title, page.published) == ("Page B", "2025-02-03")


async def test_a_key_that_is_refused_is_named_without_its_value(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    internet.open(TAVILY_API_KEY="tvly-secret")
    internet.status["tavily"] = 401
    with pytest.raises(ToolError) as refused:
        await hits(internet.web, "heat", 5, internet.env)
    assert "TAVILY_API_KEY" in refused.value.failure.next_action
    assert "tvly-secret" not in str(refused.value)


async def test_a_missing_package_says_how_to_install_it(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(ToolError) as refused:
        await internet.library.search("heat", 5)
    assert refused.value.failure.type == "missing_extra"
    assert "leadhand[web]" in refused.value.failure.next_action
    for package, kind in (("trafilatura", "text/html"), ("pypdf", "application/pdf")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ToolError, match=package):
            extracted(b"x", kind, url="https://example.org")


async def test_without_a_key_ddgs_is_used(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs.ddgs import DDGS  # behind the lazy name that is public
    from ddgs.exceptions import DDGSException

    found = [{"title": "Page B", "href": internet.url("/b"), "body": "About B"}]
    monkeypatch.setattr(DDGS, "text", lambda self, query, max_results: found)
    [page] = await internet.library.search("heat", 5)
    assert "Walls lose heat." in page.text

    def fail(self: DDGS, query: str, max_results: int) -> None:
        raise DDGSException("every engine failed")

    monkeypatch.setattr(DDGS, "text", fail)
    with pytest.raises(ToolError) as failed:
        await internet.library.search("heat", 5)
    assert failed.value.failure.class_ is FailureClass.TRANSIENT


async def test_a_page_is_kept_for_a_day(internet: Internet) -> None:
    first = await internet.library.fetch(internet.url("/a"))
    again = await internet.library.fetch(internet.url("/a") + "#part")
    assert first == again
    assert len(internet.asked) == 1
    assert internet.store.seconds == [KEPT_S]


async def test_secrets_on_a_page_are_redacted_before_it_is_kept(internet: Internet) -> None:
    internet.pages["/a"] = article("Leak", "The password of the door is hunter2hunter2, which is bad.")
    page = await internet.library.fetch(internet.url("/a"))
    assert "[redacted]" in page.text
    assert "hunter2" not in json.dumps(internet.store.kept)


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("Käse".encode(), "", "Käse"),
        ("Käse".encode(), "iso-8859-1", "Käse"),
        ("Käse".encode("latin-1"), "utf-8", "Käse"),
        ("Käse".encode("latin-1"), "no-such-encoding", "Käse"),
        ("Käse".encode("latin-1"), "punycode", "Käse"),
        ("чай".encode("koi8-r"), "koi8-r", "чай"),
        ("Käse".encode("utf-16"), "", "Käse"),
        (b"<meta charset=windows-1251>" + "чай".encode("cp1251"), "", "<meta charset=windows-1251>чай"),
        (b"\x81\x8d", "", "��"),
    ],
)
def test_a_wrong_charset_costs_nothing(content: bytes, charset: str, text: str) -> None:
    assert decoded(content, charset) == text


@pytest.mark.parametrize(
    ("content", "kind", "error"),
    [
        (b"%PDF-1.7\n1 0 obj <</Type", "application/pdf", "unreadable"),
        (b"%PDF-", "text/html", "unreadable"),
        (b"no pdf", "application/pdf", "unreadable"),
        (b"<html><body></body></html>", "text/html", "no_text"),
        (b"", "text/html", "no_text"),
        (b"\x00\x01\x02", "text/plain", "no_text"),
        (b"x", "image/png", "unsupported_type"),
        (b"x", "", "unsupported_type"),
    ],
)
def test_what_cannot_be_read_is_a_failure_of_its_own(content: bytes, kind: str, error: str) -> None:
    with pytest.raises(ToolError) as failed:
        extracted(content, kind, url="https://example.org/x")
    assert failed.value.failure.type == error


def test_the_lists_of_a_page_are_kept_and_its_menu_is_not() -> None:
    content = (Path(__file__).parent / "pages" / "ledger.html").read_bytes()
    items = [
        " ".join(re.sub(r"<[^>]+>", " ", item).split())
        for item in re.findall(r"<(?:li|dd)>(.*?)(?=<(?:/?li|/dd|/?[udo]l)>)", content.decode(), re.DOTALL)
    ]

    text = extracted(content, "text/html", url="https://example.org/ledger").text

    *menu, first = items[:5]
    assert first.startswith("The ledger hands its data")
    assert len(items[4:]) == 15
    assert [item for item in items[4:] if item not in text] == []
    assert [item for item in menu if f"- {item}" in text] == []


def test_hostile_markup_ends() -> None:
    deep = b"<html><body>" + b"<div>" * 20_000 + b"Text that is very deep. " * 20
    with contextlib.suppress(ToolError):  # or what the parser has left of it
        assert "very deep" in extracted(deep, "text/html", url="https://example.org").text
