"""``leadhand init``: write the files of a new project."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from leadhand.app.project.scaffold import write_project
from leadhand.cli.options import Debug, Flag
from leadhand.cli.terminal.streams import say, write_line


async def init(
    directory: Annotated[str, Flag("The directory of the project.", "DIR")] = ".", /, *, debug: Debug = False
) -> None:
    """Write the files of a new project."""
    for file in write_project(Path(directory)):
        write_line(str(file))
    if Path(directory) != Path():
        say(f"Go there: cd {shlex.quote(directory)}")
    say('Try it: leadhand run --offline "opening hours on Saturday"')
