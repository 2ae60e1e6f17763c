"""Builds the web console while the package is built: `console/` is bundled by Deno into `src/leadhand/_console/`.

A wheel also carries the pages of `docs/` as `leadhand/_docs/`, where the tool `web_search` finds them offline.

Deno comes from PyPI as a requirement of the build alone, so that nobody needs Node, and is asked for only when the
console's sources have changed since the last build. An sdist carries the built console and none of its sources:
installing from it builds nothing. `LEADHAND_CONSOLE=skip` builds none: the service then says that it has no console.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DENO = "deno>=2.9.8,<3"
STAMP = ".stamp"
"""Holds the digest of the sources that the console beside it was built from."""
ENTRIES = ["src/main.tsx", "src/style.css"]
COPIED = ["index.html", "icon.svg"]
SOURCES = {".ts", ".tsx", ".css", ".html", ".svg", ".json", ".lock"}
LONGEST_S = 300


class ConsoleNotBuilt(Exception):
    """The console could not be built; the message says why."""


class ConsoleHook(BuildHookInterface):
    """What hatchling calls: which requirements a build has, and what it does before files are collected."""

    def dependencies(self) -> list[str]:
        """Deno, when there is something to bundle and a wheel of Deno for this machine."""
        return [DENO] if console_is_stale(Path(self.root)) and deno_has_a_wheel() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the console. Where it cannot, an editable install goes on without; anything to be shipped fails."""
        root = Path(self.root)
        if self.target_name == "wheel" and version != "editable":
            build_data.setdefault("force_include", {}).update(pages(root))
        if not console_is_stale(root):
            return
        try:
            build_console(root)
        except ConsoleNotBuilt as failure:
            advice = "Set LEADHAND_CONSOLE=skip to build without the console."
            if version != "editable":
                raise ConsoleNotBuilt(f"{failure}\n{advice}") from failure
            left = "The one built before stays" if built_console(root).exists() else "It is absent"
            self.app.display_warning(f"The web console was not built. {left}; all else works.\n{failure}")


def pages(root: Path) -> dict[str, str]:
    """The pages of the documentation, and where each is in a wheel."""
    docs = root / "docs"
    return {str(page): f"leadhand/_docs/{page.relative_to(docs).as_posix()}" for page in docs.rglob("*.md")}


def built_console(root: Path) -> Path:
    """Where the built console is."""
    return root / "src" / "leadhand" / "_console"


def console_is_stale(root: Path) -> bool:
    """Whether there is something to build: sources that differ from those of the console that is there."""
    if os.environ.get("LEADHAND_CONSOLE") == "skip" or not (root / "console").is_dir():
        return False
    stamp = built_console(root) / STAMP
    return not stamp.is_file() or stamp.read_text() != digest_of_sources(root)


def digest_of_sources(root: Path) -> str:
    """SHA-256 (hex) of what the console is made from: names and contents, tests left out, and this file."""
    console = root / "console"
    whole = hashlib.sha256()
    for file in [*sorted(console.rglob("*")), root / "hatch_build.py"]:
        if file.suffix not in {*SOURCES, ".py"} or file.stem.endswith(("_test", "_bench")) or not file.is_file():
            continue
        whole.update(f"{file.relative_to(root).as_posix()}\0".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def deno_has_a_wheel() -> bool:
    """Whether PyPI has Deno for this machine: not for musl, nor for Windows on ARM. There, one on PATH will do."""
    libc = str(sysconfig.get_config_var("SOABI") or "") + str(sysconfig.get_config_var("HOST_GNU_TYPE") or "")
    return "musl" not in libc and sysconfig.get_platform() != "win-arm64"


def build_console(root: Path) -> None:
    """Bundles `console/` and puts the outcome, stamped, where the package looks for it.

    What was there before is replaced only once all has worked. Raises `ConsoleNotBuilt`.
    """
    console, target = root / "console", built_console(root)
    digest = digest_of_sources(root)
    with tempfile.TemporaryDirectory(prefix="leadhand-console-") as made:
        out = Path(made) / "_console"
        bundle(console, out)
        for name in COPIED:
            shutil.copyfile(console / name, out / name)
        preload_chunks(out)
        (out / STAMP).write_text(digest)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(out, target)


def preload_chunks(out: Path) -> None:
    """Lets browsers fetch what `main.js` imports at once together with it, instead of after it."""
    chunks = sorted(set(re.findall(r'from ?"\./(chunk-\w+\.js)"', (out / "main.js").read_text())))
    links = "".join(f'    <link rel="modulepreload" href="/{chunk}">\n' for chunk in chunks)
    page = (out / "index.html").read_text()
    (out / "index.html").write_text(page.replace("  </head>\n", f"{links}  </head>\n"))


def bundle(console: Path, out: Path) -> None:
    """Runs Deno. It is looked for on PATH, since its Python module finds no binary in pip's build environments."""
    deno = shutil.which("deno")
    if deno is None:
        raise ConsoleNotBuilt(f"There is no `deno` on PATH, and PyPI has none for {sysconfig.get_platform()}.")
    command = [deno, "bundle", "--quiet", "--frozen", "--platform=browser", "--minify"]
    command += ["--code-splitting", f"--outdir={out}", *ENTRIES]
    environment = os.environ | {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=console,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConsoleNotBuilt(f"Deno had not bundled the console after {LONGEST_S} s.") from None
    except OSError as error:
        raise ConsoleNotBuilt(f"Deno does not start: {error}.") from error
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip()
        raise ConsoleNotBuilt(f"Deno did not bundle the console (it needs the npm registry the first time):\n{told}")
