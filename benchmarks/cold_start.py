"""Cold start in fresh processes, interleaved: CPU beyond a bare interpreter, as a ratio to ``import pydantic``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 9
COMMANDS: dict[str, list[str]] = {
    "bare interpreter": ["-c", "pass"],
    "import pydantic": ["-c", "from pydantic import BaseModel"],
    "import leadhand": ["-c", "import leadhand"],
    "leadhand --version": ["-m", "leadhand", "--version"],
    "leadhand run --offline (one question)": ["-m", "leadhand", "run", "--offline", "What is the weather in Paris?"],
}


def cpu_ms(arguments: list[str], home: str) -> float:
    """User and system CPU of one process, by the operating system's own account."""
    environment = {**os.environ, "LEADHAND_HOME": home}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1_000


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as home:
        for number in range(ROUNDS + 1):
            for name, arguments in COMMANDS.items():
                cpu = cpu_ms(arguments, home)
                if number:  # the first round fills the caches
                    taken[name].append(cpu)
    bare = statistics.median(taken["bare interpreter"])
    pydantic = statistics.median(taken["import pydantic"]) - bare
    print("| what | CPU ms | beyond bare, against import pydantic |\n|---|---|---|")
    for name, values in taken.items():
        cpu = statistics.median(values)
        print(f"| {name} | {cpu:.0f} | {(cpu - bare) / pydantic:.2f} × |")


if __name__ == "__main__":
    main()
