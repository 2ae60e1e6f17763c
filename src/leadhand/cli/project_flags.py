"""The flags of a command where the manifest of the project sets them and the command line does not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from leadhand.cli.options import NO_PROJECT

MODELS = ("model", "lead_model", "worker_model", "review_model")


def with_project(given: Mapping[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """Return the flags of a command, completed by the manifest; ``flags`` are the names of those that it has.

    ``loaded`` is the project, if there is one.

    The manifest is the one that --project names, else the nearest upwards from the working directory. A flag replaces
    what the manifest sets; files are added to those of the manifest. Raises as ``load_project`` does.
    """
    found = dict(given)
    if "project" not in flags or given.get("project") == NO_PROJECT:
        return found
    from leadhand.app.config_files import find_manifest  # commands without --project do not need it

    path = Path(given["project"]) if "project" in given else find_manifest(Path.cwd())
    if path is None:
        return found
    from leadhand.app.manifest import load_project  # most commands run outside a project
    from leadhand.app.project_settings import project_flags

    project = load_project(path)
    for name, value in project_flags(project).items():
        if name not in flags or (name in MODELS and given.get("offline")):
            continue
        if name == "approve" and name in given:
            continue
        if name == "stage":
            own = [each.partition("=")[0] for each in given.get(name, ())]
            value = tuple(each for each in value if each.partition("=")[0] not in own)
        if isinstance(value, tuple):
            found[name] = (*value, *(each for each in given.get(name, ()) if each not in value))
        else:
            found.setdefault(name, value)
    return found | {"loaded": project}
