"""Files of Leadhand that one request enters, from the command to the answer, with the lines of the functions entered.

A file is entered when one of its functions runs. Importing a module, and what its import runs, does not count; neither
do functions that dataclasses and pydantic generate. Models and tools are left out. With `--functions`, each file is
followed by its functions.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import leadhand
from leadhand.cli.app import main as run_command

PACKAGE = Path(leadhand.__file__).parent
LEFT_OUT = ("models", "tools")
COMMAND = ["run", "--offline", "What is the weather in Paris?"]
IS_FUNCTION = 1  # the flag CO_OPTIMIZED of a code object, which bodies of modules and classes do not have


def recorder(entered: set[CodeType]) -> Callable[[FrameType, str, Any], None]:
    """Return a profile function for one thread that adds each function that runs outside imports to `entered`."""
    depth, importing = 0, []

    def record(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal depth
        code = frame.f_code
        if event == "call":
            depth += 1
            if code.co_name == "<module>":
                importing.append(depth)
            elif not importing and code.co_flags & IS_FUNCTION:
                entered.add(code)
        elif event == "return":
            if importing and importing[-1] == depth:
                importing.pop()
            depth -= 1

    return record


def entered_functions() -> set[CodeType]:
    """Run the command with a new home and return the code of every function that it entered, in any thread."""
    entered: set[CodeType] = set()

    def in_thread(frame: FrameType, event: str, argument: Any) -> None:
        record = recorder(entered)
        sys.setprofile(record)
        record(frame, event, argument)

    with tempfile.TemporaryDirectory() as home, open(os.devnull, "w") as nowhere:
        os.environ["LEADHAND_HOME"] = home
        threading.setprofile(in_thread)
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            sys.setprofile(recorder(entered))
            code = run_command(COMMAND)
            sys.setprofile(None)
        threading.setprofile(None)
    if code:
        raise RuntimeError(f"{COMMAND} ended with {code}")
    return entered


def lines_of(code: CodeType) -> set[int]:
    """Return the numbers of a function's lines, from its `def` to its last line."""
    numbers = {line for _, _, line in code.co_lines() if line}
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    last = max([*numbers, *(max(lines_of(each)) for each in inner)])
    return set(range(code.co_firstlineno, last + 1))


def main() -> None:
    files: dict[Path, list[CodeType]] = {}
    for code in entered_functions():
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] not in LEFT_OUT:
            files.setdefault(path.relative_to(PACKAGE), []).append(code)
    whole, run = 0, 0
    print("| file | lines | lines of the functions entered |\n|---|---|---|")
    for path, functions in sorted(files.items()):
        lines = len((PACKAGE / path).read_text().splitlines())
        entered = len(set[int]().union(*(lines_of(code) for code in functions)))
        whole, run = whole + lines, run + entered
        print(f"| {path} | {lines:,} | {entered:,} |")
        if "--functions" in sys.argv:
            for code in sorted(functions, key=lambda code: code.co_firstlineno):
                print(f"  {code.co_firstlineno} {code.co_name}")
    print(f"| {len(files)} files | {whole:,} | {run:,} |")


if __name__ == "__main__":
    main()
