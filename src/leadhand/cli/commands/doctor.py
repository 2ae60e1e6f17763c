"""``leadhand doctor``: what is wrong with this set-up, and how to mend it."""

from __future__ import annotations

from collections import Counter

from leadhand import __version__
from leadhand.app.checks import Finding, examine
from leadhand.app.formatting import one_line, sentence
from leadhand.app.settings import settings
from leadhand.cli.console import err_is_terminal, say, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import how_to_go_on
from leadhand.cli.options import HERE, Place
from leadhand.domain.listing import RunListing
from leadhand.ports import ContextStore

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def doctor(*, json: bool = False, place: Place = HERE) -> int:
    """Say what is wrong with this set-up and how to mend it.

    Parameters
    ----------
    json
        Print a JSON array of findings: check, level (ok, warn, fail), what, how.
    """

    async def go_on(store: ContextStore, orphans: list[RunListing]) -> str:
        return await how_to_go_on(store, orphans, place)

    findings: list[Finding] = []
    async for finding in examine(settings(home=place.home, database=place.database), __version__, go_on):
        findings.append(finding)
        if not json:
            write_line(f"{MARKS[finding.level]}  {finding.check:<9} {one_line(finding.what)}")
            if finding.how:
                write_line(f"{'':<16}{sentence(finding.how)}")
    levels = Counter(finding.level for finding in findings)
    if json:
        write_json([finding.document() for finding in findings])
    elif err_is_terminal():
        say(f"{levels['ok']} ok, {levels['warn']} to look at, {levels['fail']} failed")
    return Exit.CONFIGURATION if levels["fail"] else Exit.ANSWERED
