"""What code checks of the replies of a lead and its subagents, and what it keeps of them and of their calls."""

from __future__ import annotations

from collections.abc import Container, Mapping

from leadhand.core.artifact import MEMORY, confined
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import message_of
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.flows.flow import Given as Result
from leadhand.flows.passages import returned_passages
from leadhand.flows.seam.results import unfenced
from leadhand.verify.claims import citations_in

from .workers import Found

LONGEST_FILE = 20_000
"""Characters of a file of an earlier run that are kept as what an answer cites."""


def subagent_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return the passages that a subagent names and no tool returned, if it names no others: those are left out."""
    said, known = object_of(result.value), returned_passages(result.calls)
    if "passages" in said:  # it was checked before
        return []
    named = _named(said)
    unknown = [name for name in named if not _is_known(name, known)]
    if len(unknown) < len(named):
        return []
    return [f"the answer names the passage {name}, which no tool returned" for name in unknown][:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the result of a subagent with the passages that it and its files name, as the tools returned them. Its
    file is the one that it names, or if it did not write that, the last that it wrote."""
    said, known = object_of(result.value), returned_passages(result.calls)
    wrote = (call.args for call in result.calls if call.tool == "filesystem_write" and call.ok)
    files = {memory_path(text_of(each.get("path"))): text_of(each.get("content")) for each in wrote}
    named = text_of(said.get("artifact_path")).removeprefix(MEMORY)
    path = f"{MEMORY}{named}" if f"{MEMORY}{named}" in files else next(reversed(files), None)
    texts = {field: _supported(text, known) for field in ("summary", "detail") if (text := text_of(said.get(field)))}
    said = {**said, **texts}
    cited = dict.fromkeys(name for names in (_named(said), *map(_cited, files.values())) for name in names)
    found = {**said, "artifact_path": path, "passages": tuple(known[name] for name in cited if name in known)}
    return Found.model_validate(found).model_dump(mode="json")


def with_files(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the files that the answer of a lead cites, as the lead read them; None without any."""
    cited, read = _cited(unfenced(result.text)), dict[str, str]()
    for call in (each for each in result.calls if each.tool == "filesystem_read" and each.ok):
        if (path := memory_path(text_of(call.args.get("path")))) in cited:
            read[path] = read.get(path, "") + written_out(message_of(call.raw))
    return {"files": [{"path": path, "text": text[:LONGEST_FILE]} for path, text in read.items()]} if read else None


def _named(said: Mapping[str, Json]) -> dict[str, None]:
    """Return what a subagent cites."""
    return _cited("\n".join(written_out(said.get(field)) for field in ("summary", "detail")))


def _is_known(name: str, known: Container[str]) -> bool:
    return name in known or name.startswith(MEMORY)


def _supported(text: str, known: Container[str]) -> str:
    """Return a text without the passages that it cites and no tool returned."""
    for citation in reversed([*citations_in(text)]):
        kept = [name for name in citation.ids if _is_known(name, known)]
        if len(kept) < len(citation.ids):
            before = text[: citation.start] if kept else text[: citation.start].rstrip(" ")
            mark = f"[{', '.join(kept)}]" if kept else ""
            text = f"{before}{mark}{text[citation.end :]}"
    return text


def _cited(text: str) -> dict[str, None]:
    """Return what a text cites, each once, in its order."""
    return dict.fromkeys(name for citation in citations_in(text) for name in citation.ids)


def written_out(value: Json) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def memory_path(path: str) -> str:
    """Return the path of an artifact below ``memory/``. Raises UsageError, as :func:`confined` does."""
    whole = confined(path)
    return whole if whole.startswith(MEMORY) else confined(f"{MEMORY}{whole}")
