"""Check a page: the rules of axe-core and its width. Keep a picture of it."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

SCREENSHOTS = Path(__file__).parent / "screenshots"
RUN_AXE = """async (rules) => {
  const found = await axe.run(
    { exclude: [".fleet > :nth-child(n + 60)"] }, // the first sixty shapes represent the thousand
    { resultTypes: ["violations"], ...(rules && { runOnly: rules }) },
  );
  return found.violations.map(({ id, help, nodes }) =>
    `${id}: ${help}\\n` + nodes.map((node) => `    ${node.target}: ${node.html.slice(0, 200)}`).join("\\n"));
}"""
SIDEWAYS = """() => {
  const root = document.scrollingElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1)
    .slice(0, 8)
    .map((one) => `${one.tagName.toLowerCase()}.${one.className}`);
}"""


async def check_accessible(page: Page, *rules: str) -> None:
    """Raise AssertionError with the violations that axe-core finds, by all its rules or only by some."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(Axe().axe_script)
    found = await page.evaluate(RUN_AXE, list(rules) or None)
    assert not found, "\n".join(["axe-core finds:", *found])


async def check_width(page: Page) -> None:
    """Raise AssertionError if the page has to be scrolled sideways."""
    wide = await page.evaluate(SIDEWAYS)
    assert not wide, f"the page is wider than its window, by: {', '.join(wide)}"


async def picture(page: Page, name: str, *, whole: bool = True) -> None:
    """Keep a picture of the whole page, or of its visible part."""
    SCREENSHOTS.mkdir(exist_ok=True)
    if whole:
        await page.evaluate("scrollTo(0, 0)")
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)
