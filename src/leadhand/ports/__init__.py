"""Ports: the interfaces between the engine and the outside world, each small enough for a one-page fake."""

from leadhand.domain.errors import AllowanceRefused, StaleAttempt

from .stores import (
    AgentStore,
    AnswerCache,
    ArtifactStore,
    ContextStore,
    FileIndex,
    HasArtifacts,
    KeepsArtifacts,
    KeyStore,
    UpkeepStore,
)
from .work import (
    BoundTool,
    Clock,
    Dispatcher,
    FormRefused,
    Library,
    ModelError,
    Models,
    Page,
    PartialResults,
    Toolbox,
    ToolContext,
    Web,
    WebReply,
    Work,
)

__all__ = [
    "AgentStore",
    "AllowanceRefused",
    "AnswerCache",
    "ArtifactStore",
    "BoundTool",
    "Clock",
    "ContextStore",
    "Dispatcher",
    "FileIndex",
    "FormRefused",
    "HasArtifacts",
    "KeepsArtifacts",
    "KeyStore",
    "Library",
    "ModelError",
    "Models",
    "Page",
    "PartialResults",
    "StaleAttempt",
    "ToolContext",
    "Toolbox",
    "UpkeepStore",
    "Web",
    "WebReply",
    "Work",
]
