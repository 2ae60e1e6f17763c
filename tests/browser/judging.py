"""Check a page: the rules of axe-core and its width. Keep a picture of it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, ViewportSize

SCREENSHOTS = Path(__file__).parent / "screenshots"
DESK: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
KEPT = bool(os.environ.get("PICTURES"))
"""Whether pictures of all screens are kept: they are for people, and take as long as the checks."""
RUN_AXE = """async ([rules, within]) => {
  window.judged ??= new Set();
  for (const element of document.querySelectorAll("[data-unjudged]")) delete element.dataset.unjudged;
  const mark = (element, below) => {
    const style = getComputedStyle(element);
    const { backgroundColor, backgroundImage, opacity, filter, color, fontSize, fontWeight } = style;
    const looks = [
      below, element.localName, element.className, element.matches(":disabled, [aria-disabled=true]"),
      backgroundColor, backgroundImage, opacity, filter, color,
    ].join();
    const text = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const coloured = text || element.matches("a, input, select, textarea, [role=link]");
    if (coloured && element.checkVisibility({ visibilityProperty: true })) {
      const inline = element.textContent.trim() !== element.parentElement.textContent.trim();
      const drawn = [looks, fontSize, fontWeight, style.textDecorationLine, style.textShadow, inline].join();
      if (!window.judged.has(drawn)) element.dataset.unjudged = "";
      window.judged.add(drawn);
    }
    for (const child of element.children) mark(child, looks);
  };
  for (const part of document.querySelectorAll(within ?? "html")) mark(part, "");
  axe.configure({ rules: [
    { id: "color-contrast", selector: "[data-unjudged]" },
    { id: "link-in-text-block", selector: ":is(a[href], [role=link])[data-unjudged]" },
  ] });
  const found = await axe.run(
    { include: within ?? "html", exclude: [".fleet > :nth-child(n + 60)"] }, // the first sixty represent the thousand
    { resultTypes: ["violations"], ...(rules.length && { runOnly: rules }) },
  );
  return found.violations.map(({ id, help, nodes }) =>
    `${id}: ${help}\\n` + nodes.map((node) => `    ${node.target}: ${node.html.slice(0, 200)}`).join("\\n"));
}"""
"""Run axe-core. Colours take most of its time. They are checked for the first of the texts that have the same tags,
classes and colours up to the root, and not again for a text that looks as one before, say in another width."""
SIDEWAYS = """() => {
  const root = document.scrollingElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1)
    .slice(0, 8)
    .map((one) => `${one.tagName.toLowerCase()}.${one.className}`);
}"""


async def check_accessible(page: Page, *rules: str, within: str | None = None) -> None:
    """Raise AssertionError with the violations that axe-core finds, by all its rules or only by some."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(Axe().axe_script)
    found = await page.evaluate(RUN_AXE, [rules, within])
    assert not found, "\n".join(["axe-core finds:", *found])


async def check_width(page: Page) -> None:
    """Raise AssertionError if the page has to be scrolled sideways."""
    wide = await page.evaluate(SIDEWAYS)
    assert not wide, f"the page is wider than its window, by: {', '.join(wide)}"


async def check_screen(page: Page, ready: Callable[[Page], Awaitable[None]], name: str) -> None:
    """Check a page in a wide window, in light and dark, and on a phone."""
    await ready(page)
    await check_accessible(page)
    await check_width(page)
    await picture(page, f"{name}-light")

    await page.emulate_media(color_scheme="dark")  # nothing but colours changes
    await check_accessible(page, "color-contrast", "link-in-text-block")
    await picture(page, f"{name}-dark")

    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(PHONE)
    await ready(page)
    await check_accessible(page)
    await check_width(page)
    await picture(page, f"{name}-narrow")


async def picture(page: Page, name: str, *, whole: bool = True) -> None:
    """Keep a picture of the whole page, or of its visible part, if pictures are asked for."""
    if not KEPT:
        return
    SCREENSHOTS.mkdir(exist_ok=True)
    if whole:
        await page.evaluate("scrollTo(0, 0)")
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)
