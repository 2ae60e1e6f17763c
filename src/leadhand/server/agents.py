"""The roles of the work-order flow and the stages of the report flow, with what people set for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic import ValidationError

from leadhand.app.arguments import name as checked_name
from leadhand.app.arguments import text
from leadhand.app.flows import DEFAULT, REPORT
from leadhand.app.runtime import Runtime
from leadhand.domain.access import AgentSettings
from leadhand.domain.errors import ConfigurationError, UsageError
from leadhand.domain.text import did_you_mean
from leadhand.domain.value import is_list, is_object, one_line
from leadhand.flows.report.agents import BoundAgent, completed
from leadhand.flows.report.options import PLANNER, RESEARCHER, REVIEWER, WRITER, Stage, ordered
from leadhand.flows.work_order.roles import instructions as shipped
from leadhand.ports import AgentStore
from leadhand.server.problems import Problem, no_such
from leadhand.server.schemas import AgentChange, AgentClass, AgentDefaults, AgentDocument


class Role(NamedTuple):
    """A role: its description, and the names of its prompt and of its model setting."""

    name: str
    does: str
    prompt: str
    model: str


ROLES = (
    Role("lead", "Plans the request as a work order.", "plan", "lead"),
    Role("worker", "Carries out one subtask.", "work", "worker"),
    Role("reviewer", "Judges the results against the evidence.", "review", "review"),
    Role("composer", "Writes the answer.", "compose", "compose"),
)
PREFIX = f"{REPORT}."
"""The names of the stages of the report flow begin with this."""
STAGES = {
    PLANNER: "Plans the outline and the research questions.",
    RESEARCHER: "Answers one research question with tools.",
    WRITER: "Writes the draft, and revises it.",
    REVIEWER: "Judges the draft and its citations.",
}
ADDED = {
    "feedback": "Gives a verdict on the draft, with findings.",
    "draft": "Writes another draft.",
    "research": "Adds research.",
}
"""What a stage that was added does, by what it gives."""
FIELDS = {
    "agent",
    "off",
    "after",
    "before",
    "needs",
    "gives",
    "tools",
    "max_turns",
    "max_requests",
    "max_tokens",
    "budget",
}
"""What the document of a stage has besides that of a role."""


class Agents:
    """The roles of new runs on this runtime. Raises ConfigurationError if the store does not support them."""

    def __init__(self, runtime: Runtime) -> None:
        store = runtime.store
        if not isinstance(store, AgentStore):
            raise ConfigurationError(
                "this store does not support role settings", "Use SQLite or PostgreSQL, or implement ports.AgentStore."
            )
        self._store = store
        self._runtime = runtime

    async def add(self, new: AgentSettings) -> None:
        """Set a role that has its defaults, or add a stage. Raises Problem (409) if it was changed before; see set."""
        before = (await self._kept()).get(new.name)
        if before is not None:
            raise Problem(
                HTTPStatus.CONFLICT,
                "conflict",
                f"the role {new.name} was already changed by {before.by}",
                f"Use PUT /api/agents/{new.name} to change it again.",
            )
        if not self._is_stage(new.name):
            self._check(new.name, ())
        await self._set(new)

    async def set(self, new: AgentSettings) -> None:
        """Set a role. Raises Problem (404) for a role that does not exist, UsageError for invalid text and for stages
        that do not fit together, and ConfigurationError for an unknown model.
        """
        self._check(new.name, await self._kept())
        await self._set(new)

    async def _set(self, new: AgentSettings) -> None:
        if new.model is not None:
            checked_name(new.model, "model", "Pass provider:name, or omit it.")
            self._runtime.all_models.check(new.model)
        if new.instructions is not None:
            text(new.instructions, "the instructions", "Pass the instructions as text.")
        if self._is_stage(new.name):
            known = {spec.name for spec in self._runtime.toolbox.known()}
            if missing := [name for name in new.stage.get("tools") or () if name not in known]:
                raise UsageError(f"there is no tool {missing[0]!r}", "GET /api/tools lists the tools.", field="tools")
            if (named := new.stage.get("agent")) is not None and named not in self._classes:
                how = "Declare it in leadhand.toml (agents = […]), or start the server with --agent."
                known = f" Choose from: {', '.join(self._classes)}.{did_you_mean(named, self._classes)}"
                how = f"{how}{known if self._classes else ''}"
                raise UsageError(f"there is no class {named!r} for stages on this server", how, field="agent")
            self._ordered(_stages({**await self._kept(), new.name: new}))  # raises for those that do not fit together
        elif new.stage:
            given = next(iter(new.stage))
            raise UsageError(
                f"{given} is not a setting of the role {new.name}",
                f"Only stages of the report flow have it. Their names begin with {PREFIX!r}.",
                field=given,
            )
        await self._store.set_agent(self._runtime.redactor.value(new))

    async def unset(self, name: str) -> None:
        """Reset a role to its defaults, or remove a stage that was added. Raises Problem: 404 for a role that does not
        exist, 409 for a stage whose place another one depends on.
        """
        kept = await self._kept()
        self._check(name, kept)
        stage = name.removeprefix(PREFIX)
        if self._is_stage(name) and stage not in STAGES:
            for other in kept.values():
                if stage in (other.stage.get("after"), other.stage.get("before")):
                    raise Problem(
                        HTTPStatus.CONFLICT,
                        "conflict",
                        f"the place of the stage {other.name.removeprefix(PREFIX)} depends on {stage}",
                        f"Move or remove it first: PUT /api/agents/{other.name}",
                    )
        await self._store.unset_agent(name)

    async def models(self, flow: str) -> dict[str, str]:
        """The models that were set for the roles of runs of a flow, by setting. Those of stages are options."""
        kept = await self._kept() if flow == DEFAULT else {}
        return {role.model: model for role in ROLES if role.name in kept and (model := kept[role.name].model)}

    async def instructions(self, flow: str) -> dict[str, str]:
        """The instructions that were set for the roles of runs of a flow, by prompt. Those of stages are options."""
        kept = await self._kept() if flow == DEFAULT else {}
        return {role.prompt: own for role in ROLES if role.name in kept and (own := kept[role.name].instructions)}

    async def options(self, flow: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of a new run: those given, and the stages as they were set, where they are not given."""
        own = given.get("agents", [])
        if flow != REPORT or not is_list(own):  # the flow refuses another value
            return given
        kept = [stage.model_dump(mode="json", exclude_unset=True) for stage in _stages(await self._kept())]
        return {**given, "agents": _merged(kept, own, review=given.get("review"))} if kept else given

    def classes(self) -> tuple[AgentClass, ...]:
        """The classes of this process that can carry out stages."""
        return tuple(
            AgentClass(
                name=name,
                description=bound.description,
                source=bound.source,
                after=bound.agent.after,
                before=bound.agent.before,
                needs=tuple(bound.agent.needs),
                gives=tuple(bound.agent.gives),
            )
            for name, bound in self._classes.items()
        )

    @property
    def _classes(self) -> Mapping[str, BoundAgent]:
        return self._runtime.flows.agents

    def _ordered(self, stages: Sequence[Stage]) -> tuple[Stage, ...]:
        """Return the stages of a report in order, completed with what their classes say."""
        given = {"agents": [stage.model_dump(mode="json", exclude_unset=True) for stage in stages]}
        return ordered([Stage.model_validate(each) for each in completed(given, self._classes)["agents"]])

    async def documents(self) -> tuple[AgentDocument, ...]:
        """The documents of all roles, by flow; stages in the order in which they run."""
        kept = await self._kept()
        roles = tuple(self._role(role, kept.get(role.name)) for role in ROLES)
        return (*roles, *self._reports(kept)) if self._has_report else roles

    async def document(self, name: str) -> AgentDocument:
        """The document of one role."""
        return next(each for each in await self.documents() if each.name == name)

    def _role(self, role: Role, kept: AgentSettings | None) -> AgentDocument:
        ships = AgentDefaults(model=self._runtime.choice.models.of(role.prompt), instructions=shipped(role.prompt))
        return _document(role.name, role.does, DEFAULT, ships, kept)

    def _reports(self, kept: Mapping[str, AgentSettings]) -> Iterable[AgentDocument]:
        instructions = {role.name: role.instructions for role in self._runtime.flows.roles(REPORT, {})}
        stages = _stages(kept)
        off = {stage.name for stage in stages if stage.off}
        for stage in self._ordered([stage.model_copy(update={"off": False}) for stage in stages]):
            does, shipped = STAGES.get(stage.name) or ADDED[stage.gives[0]], instructions.get(stage.name, "")
            if stage.agent is not None:
                bound = self._classes.get(stage.agent)
                does = bound.description if bound is not None else f"This server has no class {stage.agent}."
                shipped = "" if bound is None else bound.placed({}).get("instructions", "")
            ships = AgentDefaults(model=self._runtime.choice.models.of(stage.name), instructions=shipped)
            fields = stage.evolve(off=stage.name in off).model_dump(include=FIELDS)
            name = f"{PREFIX}{stage.name}"
            yield _document(name, does, REPORT, ships, kept.get(name), added=not stage.is_built_in, **fields)

    @property
    def _has_report(self) -> bool:
        return REPORT in self._runtime.flows.names()

    def _is_stage(self, name: str) -> bool:
        return name.startswith(PREFIX) and self._has_report

    def _check(self, name: str, kept: Iterable[str]) -> None:
        """Raise Problem (404) for a role that no flow has."""
        stages = [f"{PREFIX}{stage}" for stage in STAGES] if self._has_report else []
        names = [*(role.name for role in ROLES), *stages, *(each for each in kept if self._is_stage(each))]
        if name not in names:
            add = f" POST /api/agents adds a stage: {PREFIX}NAME." if stages else ""
            raise no_such(f"there is no role {name!r}", f"Choose from: {', '.join(dict.fromkeys(names))}.{add}")

    async def _kept(self) -> dict[str, AgentSettings]:
        return {each.name: each for each in await self._store.agents()}


def _document(
    name: str, does: str, flow: str, ships: AgentDefaults, kept: AgentSettings | None, **stage: Any
) -> AgentDocument:
    return AgentDocument(
        name=name,
        flow=flow,
        role=does,
        model=(kept.model if kept is not None else None) or ships.model,
        instructions=(kept.instructions if kept is not None else None) or ships.instructions,
        ships=ships,
        changed=None if kept is None else AgentChange(by=kept.by, at=kept.at),
        **stage,
    )


def _stages(kept: Mapping[str, AgentSettings]) -> list[Stage]:
    """Return the stages of the report flow that were changed or added. Raises UsageError for an invalid one."""
    try:
        return [
            Stage.model_validate(
                {"name": name.removeprefix(PREFIX), **each.stage}
                | {key: own for key in ("model", "instructions") if (own := getattr(each, key)) is not None}
            )
            for name, each in kept.items()
            if name.startswith(PREFIX)
        ]
    except ValidationError as error:
        how = "Names have lower-case letters, digits, hyphens and underscores."
        raise UsageError(f"the stage cannot be used: {one_line(error)}", how) from error


def _merged(kept: Sequence[dict[str, Any]], own: Sequence[Any], *, review: object) -> list[Any]:
    """Return the stages as they were set, changed by those of one run: field by field, its place and code as a whole.

    ``review``: the run switches the review on itself.
    """
    changed: dict[Any, dict[str, Any]] = {stage["name"]: stage for stage in kept}
    if review is True and REVIEWER in changed:
        changed[REVIEWER] = {key: each for key, each in changed[REVIEWER].items() if key != "off"}
    rest: list[Any] = []
    for one in own:
        each = {"name": one} if isinstance(one, str) else one
        if not is_object(each) or (before := changed.pop(each.get("name"), None)) is None:
            rest.append(each)
            continue
        replaced = {"after", "before"} if {"after", "before"} & each.keys() else set[str]()
        if each.get("agent") is not None:
            replaced |= {"instructions", "model", "tools"}
        rest.append({key: value for key, value in before.items() if key not in replaced} | each)
    return [*rest, *changed.values()]  # errors name the stages of the run by their index
