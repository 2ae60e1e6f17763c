"""What a manifest sets, as the flags of commands and as the arguments of ``Leadhand``."""

from __future__ import annotations

import json
from typing import Any

from leadhand.app.arguments import shown
from leadhand.app.manifest import Project
from leadhand.app.source_files import all_agents, all_flows, all_hooks, all_rules, all_tools
from leadhand.core.errors import ConfigurationError


def project_flags(project: Project) -> dict[str, Any]:
    """Return what a manifest sets by the names of flags; paths are absolute. Flags of several values are tuples."""
    manifest, models, budget = project.manifest, project.manifest.models, project.manifest.budget
    one: dict[str, Any] = {
        "model": models.default,
        "lead_model": models.lead,
        "worker_model": models.worker,
        "review_model": models.review,
        "documents": None if manifest.documents is None else str(project.directory / manifest.documents),
        "only_documents": manifest.only_documents or None,
        "check": manifest.check,
        "strict": manifest.strict or None,
        "worker_calls": manifest.worker_calls,
        "budget": budget.run,
        "budget_per_day": budget.per_day,
        "budget_total": budget.total,
        "allow_unknown_price": budget.allow_unknown_price or None,
        **manifest.limits.model_dump(),
    }
    approve = [] if manifest.approve.policy == "ask" else [manifest.approve.policy]
    several = {
        "tools": [project.located(each) for each in manifest.tools],
        "flows": [project.located(each) for each in manifest.flows],
        "agent": [project.located(each) for each in manifest.agents],
        "hooks": [project.located(each) for each in manifest.hooks],
        "approve": [*approve, *(f"{rule}={policy}" for rule, policy in manifest.approve.rules.items())],
        "stage": [
            f"{stage}.{field}={json.dumps(value, ensure_ascii=False)}"
            for stage, fields in manifest.stages.items()
            for field, value in fields.items()
        ],
    }
    return {name: value for name, value in one.items() if value is not None} | {
        name: tuple(values) for name, values in several.items() if values
    }


def project_arguments(project: Project) -> dict[str, Any]:
    """Return what a manifest sets as arguments of ``Leadhand``.

    Raises UsageError and ConfigurationError for files that do not hold what the manifest says.
    """
    flags, manifest = project_flags(project), project.manifest
    if manifest.stages:
        raise ConfigurationError(
            f"{project.path} sets stages of reports ({shown(list(manifest.stages))}), which Leadhand(…) does not take",
            "Pass them to a report: lead.report(topic, agents=[{…}]).",
        )
    apart = {name: flags.pop(name, ()) for name in ("tools", "flows", "agent", "hooks", "approve")}
    arguments: dict[str, Any] = {
        **flags,
        "project": project,
        "tools": all_tools(apart["tools"]),
        "flows": all_flows(apart["flows"]),
        "agents": all_agents(apart["agent"]),
        "hooks": all_hooks(apart["hooks"]),
        "approve": manifest.approve.policy,
        "approve_rules": dict(manifest.approve.rules),
        "offline_rules": project_rules(project),
    }
    return arguments


def project_rules(project: Project) -> dict[str, Any]:
    """Return the rules of a project for the built-in model, by the name of the worker."""
    return all_rules(project.located(each) for each in project.manifest.offline_rules)
