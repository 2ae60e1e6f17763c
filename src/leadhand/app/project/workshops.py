from __future__ import annotations

from typing import TYPE_CHECKING

from leadhand.ports import Workshop

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project


def workshop_of(project: Project | None) -> Workshop | None:
    """Return what keeps the workers that runs of a project make; None without a directory for them."""
    if project is None or project.generated_workers is None:
        return None
    from leadhand.app.project.generated_workers import ProjectWorkshop  # most processes have no project

    return ProjectWorkshop(project, project.generated_workers)
