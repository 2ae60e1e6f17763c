"""Tools that take their time and keep count: kill a run that uses them, resume it, and see what was done twice.

Every call of ``survey_tool`` writes ``began PLACE`` to a file when it begins and ``finished PLACE`` when it ends. The
file is ``survey.log`` in the current directory, or what the environment variable SURVEY_LOG names; SURVEY_SECONDS is
how long one call takes (3 if not set).

::

    leadhand run --offline --tools examples/slow_tools.py --max-workers 2 \\
        "Survey Paris, Lyon, Nice, Lille, Nantes and Bordeaux" &
    sleep 8; kill -9 $!
    leadhand runs list
    leadhand runs resume ID --tools examples/slow_tools.py
    sort survey.log | uniq -c
"""

import os
import time
from pathlib import Path

from leadhand import ToolReturn, tool


def _note(line: str) -> None:
    with Path(os.environ.get("SURVEY_LOG", "survey.log")).open("a", encoding="utf-8") as log:
        log.write(line + "\n")


@tool(timeout=120)
def survey_tool(location: str) -> ToolReturn:
    """Survey a town. Takes a few seconds.

    Args:
        location: The town, such as "Lyon".
    """
    _note(f"began {location}")
    time.sleep(float(os.environ.get("SURVEY_SECONDS", "3")))
    _note(f"finished {location}")
    return ToolReturn(summary=f"{location} was surveyed (made up for this example)", raw={"location": location})
