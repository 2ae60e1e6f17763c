"""``leadhand doctor``: check this installation and suggest fixes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated

from leadhand import __version__
from leadhand.app.checks import Finding, examine
from leadhand.app.formatting import one_line, sentence
from leadhand.app.settings import settings
from leadhand.cli.errors import Exit
from leadhand.cli.options import Flag, StoreFlags
from leadhand.cli.run_lookup import how_to_resume
from leadhand.cli.terminal.streams import err_is_terminal, say, write_json, write_line

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def doctor(
    *,
    json: Annotated[bool, Flag("Print a JSON array of findings: check, level (ok, warn, fail), what, how.")] = False,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Check this installation and suggest fixes."""
    findings: list[Finding] = []
    set_up = settings(home=store.home, database=store.database)
    async for finding in examine(set_up, __version__, lambda log, orphans: how_to_resume(log, orphans, store)):
        findings.append(finding)
        if not json:
            write_line(f"{MARKS[finding.level]}  {finding.check:<9} {one_line(finding.what)}")
            if finding.how:
                write_line(f"{'':<16}{sentence(finding.how)}")
    levels = Counter(finding.level for finding in findings)
    if json:
        write_json([asdict(finding) for finding in findings])
    elif err_is_terminal():
        say(f"{levels['ok']} passed, {levels['warn']} warnings, {levels['fail']} failed")
    return Exit.CONFIGURATION if levels["fail"] else Exit.ANSWERED
