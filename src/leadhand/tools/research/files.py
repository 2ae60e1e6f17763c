"""``filesystem_read``, ``filesystem_tree`` and ``filesystem_write``: the artifacts of a run, below ``memory/``.

They reach no other file: a path names an artifact, never a file of this machine.
"""

from __future__ import annotations

from collections import Counter

from leadhand.core.errors import ToolError, UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.tool import ToolReturn, WriteArtifact
from leadhand.core.value import Json, compact_json
from leadhand.flows.passages import said
from leadhand.flows.research.replies import memory_path
from leadhand.ports import ToolContext
from leadhand.tools.decorator import tool

LONGEST_READ = 60_000
"""Characters that one call of ``filesystem_read`` returns, at most."""
LONGEST_FILE = 1_000_000
"""Characters of a file that is written, at most."""
MOST_LISTED = 500
"""Entries that ``filesystem_tree`` lists, at most."""


@tool(toolset="research")
async def filesystem_read(path: str, offset: int = 0, *, context: ToolContext) -> ToolReturn:
    """Read a file.

    Args:
        path: Its path, as filesystem_tree and subagents name it: memory/costs.md.
        offset: The character to begin at, for the rest of a long file.
    """
    files, name = context.files, _path(path)
    if name not in files.entries:
        listed = sorted(files.entries)
        how = f"there are: {', '.join(listed[:20])}" if listed else "no file was written yet"
        raise ToolError(f"there is no file {name}; {how}.{did_you_mean(name, listed)}", type="no_such_file")
    try:
        text = (await files.read(name)).decode()
    except KeyError as error:
        raise ToolError(f"the content of {name} is no longer stored", type="no_such_file") from error
    except UnicodeDecodeError as error:
        raise ToolError(f"{name} is not text", type="not_text") from error
    if not 0 <= offset <= len(text):
        raise ToolError(f"offset is {offset}: {name} has {len(text):,} characters", type="bad_arguments")
    end = offset + LONGEST_READ
    more = f"\n\n[… {len(text) - end:,} more characters: read again with offset={end}]" if end < len(text) else ""
    return ToolReturn(raw=said(text[offset:end] + more))


@tool(toolset="research")
def filesystem_tree(max_depth: int = 3, *, context: ToolContext) -> ToolReturn:
    """List the files: a JSON list with path and size in bytes; run names the earlier run that a file comes from.

    Args:
        max_depth: Names of a path that are listed; what lies deeper is counted by folder.
    """
    if max_depth < 1:
        raise ToolError(f"max_depth is {max_depth}: it must be at least 1", type="bad_arguments")
    listed: list[dict[str, Json]] = []
    deeper: Counter[str] = Counter()
    for path, version in sorted(context.files.entries.items()):
        names = path.split("/")
        if len(names) > max_depth:
            deeper["/".join(names[:max_depth]) + "/"] += 1
            continue
        listed.append({"path": path, "size": version.size, **({"run": version.run_id} if version.run_id else {})})
    listed += [{"path": folder, "files": number} for folder, number in deeper.items()]
    rest = len(listed) - MOST_LISTED
    return ToolReturn(raw=said(compact_json([*listed[:MOST_LISTED], *([{"more": rest}] if rest > 0 else [])])))


@tool(toolset="research")
def filesystem_write(path: str, content: str) -> ToolReturn:
    """Write a Markdown file that the lead can read; a file with the same path becomes an older version.

    Args:
        path: A relative path, such as memory/heat-pump-costs.md.
        content: The whole text of the file.
    """
    if len(content) > LONGEST_FILE:
        raise ToolError(
            f"content has {len(content):,} characters: write at most {LONGEST_FILE:,}, or several files",
            type="bad_arguments",
        )
    name = _path(path)
    ask = WriteArtifact(path=name, content=content)
    return ToolReturn(raw=said(f"{name}: {len(content):,} characters"), asks=(ask,))


def _path(given: str) -> str:
    try:
        return memory_path(given)
    except UsageError as error:
        raise ToolError(f"{error.what}: {error.how}", type="bad_arguments") from error
