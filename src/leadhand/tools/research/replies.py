"""The failures of the research tools."""

from __future__ import annotations

from leadhand.core.errors import FailureClass, ToolError


def refused(message: str, type_: str = "bad_arguments") -> ToolError:
    """Return the failure of a call that its caller can correct; the caller receives ``"isError": true``."""
    return ToolError(message, type=type_, class_=FailureClass.INVALID)
