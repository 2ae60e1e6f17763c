"""What code checks of the replies of a lead and its subagents, and what it keeps of them and of their calls."""

from __future__ import annotations

from leadhand.core.artifact import MEMORY, confined
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import message_of
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.flows.flow import Given as Result
from leadhand.flows.passages import passages_in, unfenced
from leadhand.verify.claims import citations_in

from .workers import Found

LONGEST_FILE = 20_000
"""Characters of a file of an earlier run that are kept as what an answer cites."""


def subagent_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return what a subagent names that does not exist, unless it can be left out."""
    recorded = "passages" in object_of(result.value)  # it was checked before
    return [] if recorded else _read(result)[1][:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the result of a subagent with the passages that it and its files name, as the tools returned them."""
    return _read(result)[0].model_dump(mode="json")


def with_files(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the files that the answer of a lead cites, as the lead read them; None without any."""
    cited, read = _cited(unfenced(result.text)), dict[str, str]()
    for call in result.calls:
        path = _path(text_of(call.args.get("path")))
        if call.tool == "filesystem_read" and call.ok and path in cited:
            read[path] = read.get(path, "") + written_out(message_of(call.raw))
    return {"files": [{"path": path, "text": text[:LONGEST_FILE]} for path, text in read.items()]} if read else None


def _read(result: Result) -> tuple[Found, list[str]]:
    """Return what a subagent found, and the problems of what it names. Its file is the one that it names, or if it did
    not write that, the last that it wrote."""
    given = object_of(result.value)
    returned = {passage.id: passage for call in result.calls for passage in passages_in(call)}
    wrote = (call.args for call in result.calls if call.tool == "filesystem_write" and call.ok)
    files = {_path(text_of(each.get("path"))): text_of(each.get("content")) for each in wrote}
    said = {field: given.get(field) for field in ("summary", "detail")}
    named = {field: _cited(written_out(value)) for field, value in said.items()}
    problems = [
        f"{field} names the passage {name}, which no tool returned"
        for field, names in named.items()
        for name in names
        if name not in returned and not name.startswith(MEMORY)
    ]
    cited = dict.fromkeys(name for names in (*named.values(), *map(_cited, files.values())) for name in names)
    passages = tuple(returned[name] for name in cited if name in returned)
    path = _path(text_of(given.get("artifact_path")))
    path = path if path in files else next(reversed(files), None)
    return Found.model_validate({**said, "artifact_path": path, "passages": passages}), problems


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


def _path(given: str) -> str:
    try:
        return memory_path(given) if given else ""
    except UsageError:
        return given
