"""The replies of the research tools: ``{"isError": false, "message": …}``; a failure is raised."""

from __future__ import annotations

from leadhand.domain.errors import FailureClass, ToolError
from leadhand.domain.value import Json


def said(message: str) -> dict[str, Json]:
    """Return the reply of a call that succeeded."""
    return {"isError": False, "message": message}


def refused(message: str, type_: str = "bad_arguments") -> ToolError:
    """Return the failure of a call that its caller can correct; the caller receives ``"isError": true``."""
    return ToolError(message, type=type_, class_=FailureClass.INVALID)
