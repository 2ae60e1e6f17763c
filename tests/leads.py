"""A Leadhand from loose arguments, as the helpers of tests pass them on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from leadhand import Leadhand, Limits
from leadhand.api import leadhand_with
from leadhand.app import arguments
from leadhand.app.settings import settings

PARTS = ("tools", "flows", "workers", "hooks", "models", "store", "verifier", "on_approval")


def leadhand_of(model: Any = None, **given: Any) -> Leadhand:
    """Return a Leadhand with limits, settings of a process (``documents``, ``strict``, …), and parts, by name.

    ``on_text`` gets every piece of text of its runs.
    """
    by_use = {use: given.pop(f"{use}_model") for use in ("lead", "worker", "review") if f"{use}_model" in given}
    if by_use:
        model = by_use | ({} if model is None else {"default": model})
    limits = arguments.limits(given.pop("limits", None)).patched(
        Limits(**{name: given.pop(name) for name in Limits.model_fields if name in given})
    )
    if "agents" in given:
        given["workers"] = given.pop("agents")
    if isinstance(given.get("store"), str | Path):
        given["database"] = given.pop("store")
    parts = {name: given.pop(name) for name in PARTS if name in given}
    on_text = given.pop("on_text", None)
    lead = leadhand_with(settings(model=model, limits=limits, **given), **parts)
    if on_text is not None:
        lead._open = partial(_opened, lead._open, on_text)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return lead


async def _opened(open_runtime: Any, on_text: Any, **how: Any) -> Any:
    runtime = await open_runtime(**how)
    runtime.texts.on_text = on_text
    return runtime
