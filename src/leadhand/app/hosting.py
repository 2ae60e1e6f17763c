"""Connect what carries out attempts in a process: the calls of models and tools, and the host that makes them."""

from __future__ import annotations

from collections.abc import Callable

from leadhand.app.project_workers import workshop_of
from leadhand.app.settings import Settings
from leadhand.engine.hooks import Hooks
from leadhand.engine.host import Host, OnText
from leadhand.engine.model_calls import ModelCalls
from leadhand.engine.redaction import Redactor
from leadhand.engine.shared_limits import SharedLimits
from leadhand.engine.tool_cache import ToolCache
from leadhand.engine.tool_calls import ToolCalls
from leadhand.engine.tool_limits import ToolLimits
from leadhand.ports import ArtifactStore, Clock, ContextStore, Library, Models, Toolbox, Web


def host_with_calls(
    settings: Settings,
    store: ContextStore,
    models: Models,
    toolbox: Toolbox,
    clock: Clock,
    redactor: Redactor,
    *,
    web: Callable[[bool], Web],
    artifacts: ArtifactStore,
    library: Callable[[bool, str], Library],
    hooks: Hooks,
    on_text: OnText | None,
) -> tuple[Host, ModelCalls, ToolCalls]:
    """Return the host of a process, and what makes its calls. They share the limits that bind on all processes."""
    limits = SharedLimits(store)
    tool_calls = ToolCalls(
        toolbox,
        web,
        clock,
        artifacts,
        library,
        workshop_of(settings.project),
        hooks=hooks,
        limits=ToolLimits(limits, store, clock),
        cache=ToolCache(store),
    )
    model_calls = ModelCalls(models, store, clock, limits)
    return Host(store, model_calls, tool_calls, redactor, on_text, limits), model_calls, tool_calls
