"""``leadhand doctor``: check this installation and suggest fixes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from leadhand import __version__
from leadhand.app.checks import Finding, examine
from leadhand.app.formatting import one_line, sentence
from leadhand.app.settings import settings
from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, Flag, StoreFlags
from leadhand.cli.run_lookup import how_to_resume
from leadhand.cli.terminal.streams import err_is_terminal, say, write_json, write_line
from leadhand.domain.listing import RunListing
from leadhand.ports import ContextStore

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def doctor(
    *,
    json: Annotated[bool, Flag("Print a JSON array of findings: check, level (ok, warn, fail), what, how.")] = False,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """Check this installation and suggest fixes."""

    async def resume(log: ContextStore, orphans: list[RunListing]) -> str:
        return await how_to_resume(log, orphans, store)

    findings: list[Finding] = []
    async for finding in examine(settings(home=store.home, database=store.database), __version__, resume):
        findings.append(finding)
        if not json:
            write_line(f"{MARKS[finding.level]}  {finding.check:<9} {one_line(finding.what)}")
            if finding.how:
                write_line(f"{'':<16}{sentence(finding.how)}")
    levels = Counter(finding.level for finding in findings)
    if json:
        write_json([finding.document() for finding in findings])
    elif err_is_terminal():
        say(f"{levels['ok']} passed, {levels['warn']} warnings, {levels['fail']} failed")
    return Exit.CONFIGURATION if levels["fail"] else Exit.ANSWERED
