"""Read lists that draw only the rows in sight, by scrolling through them as a person would."""

from __future__ import annotations

from playwright.async_api import Page, expect

NEXT_PAGE = """list => {
  const before = list.scrollTop;
  list.scrollTop += list.clientHeight - 60;
  return list.scrollTop > before;
}"""


async def event_numbers(page: Page) -> list[int]:
    """Return the numbers of all events in the log, each as often as the log shows it."""
    log = page.get_by_role("grid", name="Events")
    follow = page.get_by_role("button", name="Follow", exact=True)
    if await follow.get_attribute("aria-pressed") == "true":
        await follow.click()
    await log.evaluate("list => { list.scrollTop = 0; }")
    await expect(log.locator("[aria-rowindex='1']")).to_be_visible()
    found: dict[int, int] = {}
    further = True
    while further:
        drawn = await log.evaluate(
            "list => [...list.querySelectorAll('[aria-rowindex]')].map(row =>"
            " [Number(row.ariaRowIndex), Number(row.querySelector('.log-seq').textContent)])"
        )
        found.update(drawn)
        further = await log.evaluate(NEXT_PAGE)
        await page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    return [found[row] for row in sorted(found)]
