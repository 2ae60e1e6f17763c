"""Check the roles of a run before it starts: their tools are there, and their models can be used."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.app.model_selection import NamedModels
from leadhand.domain.errors import UsageError
from leadhand.domain.run import WILDCARDS, Role
from leadhand.domain.text import did_you_mean
from leadhand.ports import Models
from leadhand.tools.toolbox import Toolbox


def check_roles(roles: Iterable[Role], toolbox: Toolbox, models: Models, *, offline: bool) -> None:
    """Raise UsageError for a role with an unknown tool, or with another model than the built-in one in an offline run.

    Raises ConfigurationError for a model that cannot be used. A program's own port knows its models best.
    """
    for role in roles:
        if unknown := sorted(name for name in role.tools if name not in WILDCARDS and toolbox.find(name) is None):
            tools = sorted(tool.name for tool in toolbox.known())
            raise UsageError(
                f"the role {role.name} names the tool {unknown[0]!r}, which does not exist",
                f"Available tools: {', '.join(tools) or 'none'}.{did_you_mean(unknown[0], tools)}",
            )
        if role.model is None or not isinstance(models, NamedModels):
            continue
        if offline and role.model != "offline":
            raise UsageError(
                f"the role {role.name} uses the model {role.model}, and the run is offline",
                "Leave out its model, or start the run without --offline.",
            )
        models.check(role.model)
