"""Validate arguments of callers: requests, ids, limits, names, approval policies and rules."""

from __future__ import annotations

import inspect
import logging
import math
import re
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, cast, get_type_hints

from pydantic import BaseModel, PlainValidator, ValidationError, WithJsonSchema, create_model

from leadhand.core.approval import matches
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.text import check_names
from leadhand.core.tool import ApprovalPolicy, Effect, ToolSpec
from leadhand.core.value import FrozenDict, Json, Unfit, json_problem, one_line, plain_json, shown
from leadhand.ports.hooks import POINTS, Hook, check_of, name_of
from leadhand.ports.runs import RunFilter, RunSort
from leadhand.tools.toolbox import Toolbox

LOGGER = logging.getLogger("leadhand")

CONTROL = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Control characters, and those that change the direction of the text around them: ranges of a regular expression."""
LONGEST_REQUEST = 100_000
"""The most characters in a request; longer material belongs in files that tools read."""


def _is_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (not whole and isinstance(value, float) and not math.isnan(value))


def check_request(request: object, *, example: str) -> str:
    """Return the request, trimmed. Raises UsageError if it is not text, empty or too long. ``example``: a valid one."""
    trimmed = text(request, "the request", f"Example: {example}").strip()
    if not trimmed:
        raise UsageError("the request is empty", f"Example: {example}")
    if len(trimmed) > LONGEST_REQUEST:
        raise UsageError(
            f"the request has {len(trimmed):,} characters; the limit is {LONGEST_REQUEST:,}",
            "Put long material into files, and say in the request what to do with them.",
        )
    return trimmed


def text(value: object, what: str, how: str) -> str:
    """Return ``value`` if it is a string that encodes as UTF-8 without NUL; otherwise raise UsageError."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is not text: {shown(value)}", how)
    if json_problem(value):
        raise UsageError(f"{what} is not valid UTF-8", "Encode the text as UTF-8.")
    if "\0" in value:
        raise UsageError(f"{what} contains a NUL character", "Remove it; databases cannot store it.")
    return value


def run_id(value: object) -> str:
    """Return the id of a run. Raises UsageError if it is not a text."""
    return text(value, "the run's id", "Give the run_id of a Run or an Answer.")


def json_value(value: object, what: str, how: str) -> Json:
    """Return ``value`` if it is JSON that a database can store; otherwise raise UsageError."""
    try:
        return plain_json(value)
    except Unfit as error:
        raise UsageError(f"{what} {error}", how) from error


def json_arguments(value: object, how: str) -> dict[str, Json]:
    """Return a call's arguments if they are a JSON object that a database can store; otherwise raise UsageError."""
    if not isinstance(value, dict):
        raise UsageError("the arguments are not a JSON object", how)
    return json_value(cast("object", value), "the arguments", how)


def flag(value: object, what: str) -> bool:
    """Return ``value`` if it is True or False; otherwise raise UsageError."""
    if not isinstance(value, bool):
        raise UsageError(f"invalid value for {what}: {shown(value)}", "Pass True or False.")
    return value


def flags(**given: object) -> dict[str, bool]:
    """Return these arguments if each of them is True or False; otherwise raise UsageError."""
    return {what: flag(value, what) for what, value in given.items()}


def check_methods(value: object, what: str, methods: Iterable[str], expected: str) -> None:
    """Raise UsageError unless ``value`` is None or has all these methods (``__call__``: is callable)."""
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if value is not None and lacking:
        problem = f"invalid value for {what}: {shown(value)} has no method {lacking[0]}()"
        raise UsageError(problem, f"Pass {expected}, or leave it out.")


MODELS = ("ask", "profile", "aclose")
_STORE = ("create", "append", "read", "follow", "claim", "release", "run", "runs", "blob", "aclose")


@cache
def _filters() -> type[BaseModel]:
    kinds: dict[str, Any] = {**get_type_hints(RunFilter), "status": RunStatus | None, "sort": RunSort}
    return create_model("RunFilter", **cast("Any", {key: (kind, None) for key, kind in kinds.items()}))


def check_filters(limit: object, filters: RunFilter) -> None:
    """Convert the filters of a list of runs, in place. Raises UsageError for those that cannot be used."""
    check_names("runs()", filters, RunFilter.__annotations__)
    if not isinstance(limit, int) or limit < 1:
        raise UsageError(f"invalid value for limit: {shown(limit)}", "Pass 1 or more.")
    given: dict[str, Any] = cast("Any", filters)
    try:
        given |= _filters().model_validate(given).model_dump(exclude_unset=True)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        what = f"invalid value for {found['loc'][0]}: {shown(found['input'])}"
        raise UsageError(what, f"Correct it: {found['msg'][:1].lower()}{found['msg'][1:]}.") from error
    if "tags" in given:
        given["tags"] = run_tags(given["tags"])


def check_parts(**given: object) -> None:
    """Raise UsageError for a part of a program, such as a store or a function, that cannot be used as one."""
    flows, models = cast("Any", given["flows"]), given["models"]
    if not isinstance(flows, Iterable) or isinstance(flows, str | Mapping):
        raise UsageError(f"invalid value for flows: {shown(given['flows'])}", "Pass a list: flows=[translate].")
    for adapter in cast("Mapping[str, object]", models).values() if isinstance(models, Mapping) else (models,):
        check_methods(adapter, "models", MODELS, "an object with the methods of leadhand.ports.Models")
    check_methods(given["store"], "store", _STORE, "a path, a URL, or a context store as leadhand.testing checks them")
    check_methods(given["verifier"], "verifier", ("verify",), "an object with the methods of leadhand.Verifier")
    check_methods(given["on_approval"], "on_approval", ("__call__",), "a function of an open approval")


def limits(given: object) -> Limits:
    """Return limits; for None the usual ones, of which none is set. Raises UsageError for anything else."""
    if given is None:
        return Limits()
    if not isinstance(given, Limits):
        raise UsageError(f"invalid value for limits: {shown(given)}", "Pass leadhand.Limits: limits=Limits(budget=2).")
    return given


def hooks(given: object) -> list[Hook]:
    """Return hooks, instances of the classes among them. Raises UsageError for anything else."""
    how = "Pass instances of leadhand.hooks.Hook, or functions with a decorator of leadhand.hooks: hooks=[…]."
    if isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise UsageError(f"invalid value for hooks: {shown(cast('object', given))}", how)
    return [_hook(each, how) for each in cast("Iterable[object]", given)]


def _hook(given: Any, how: str) -> Hook:
    try:
        made: Any = given() if inspect.isclass(given) and issubclass(given, Hook) else given
    except Exception as error:
        name, file = given.__name__, getattr(sys.modules.get(given.__module__), "__file__", given.__module__)
        what, why = f"the hook {name} ({file}) cannot be made", one_line(error)
        if isinstance(error, TypeError):
            how = f"Pass an instance of it, {name}(…). In a file for --hooks, assign the instance to a name."
            raise UsageError(f"{what} without arguments: {why}", how) from error
        how = "Fix the error; --debug shows the traceback."
        raise ConfigurationError(f"{what}: {type(error).__name__}: {why}", how) from error
    if not isinstance(made, Hook):
        raise UsageError(f"{shown(made)} is not a hook", how)
    if not any(check_of(made, point) for point in POINTS):
        raise UsageError(f"the hook {type(made).__name__} checks nothing", f"Define one of: {', '.join(POINTS)}.")
    timeout: object = made.timeout
    if not _is_number(timeout, whole=False) or not 0 < timeout < math.inf:
        raise UsageError(f"the hook {name_of(made)} has timeout={shown(timeout)}", "Set a number of seconds above 0.")
    return made


def name(value: object, what: str, how: str) -> str | None:
    """Return a name or None. Raises UsageError for a name that is empty or not text."""
    if value is None:
        return None
    given = text(value, what, how)
    if not given.strip():
        raise UsageError(f"{what} is empty", how)
    return given


# --- models

USES = ("default", "lead", "worker", "review")
"""What models are used for, as settings name it."""
_MODEL = "Pass provider:name or offline, or names by use: {'default': '…', 'review': '…'}."


def model_names(given: object) -> dict[str, str]:
    """Return the names of models by use, from one name or several. Raises UsageError."""
    by_use = cast("Mapping[object, object]", given) if isinstance(given, Mapping) else {"default": given}
    if unknown := [use for use in by_use if use not in USES]:
        raise UsageError(
            f"unknown use of a model: {shown(unknown[0])}", f"Choose from: {', '.join(USES)}.", field="model"
        )
    names = {
        str(use): name(each, "model" if use == "default" else f"{use}_model", _MODEL) for use, each in by_use.items()
    }
    return {use: each for use, each in names.items() if each is not None}


# --- names and tags --------------------------------------------------------------------------------------------------

LONGEST_NAME = 200
LONGEST_TAG = 256
MOST_TAGS = 32
TAG_KEY = "[A-Za-z0-9_.:/-]{1,64}"
"""The key of a tag, as a regular expression."""


def run_name(value: object) -> str:
    """Return the name of a run, trimmed. Raises UsageError if it is not one line of up to 200 characters."""
    given = text(value, "the name", "Give a short text, such as nightly.").strip()
    if len(given) > LONGEST_NAME:
        raise UsageError(f"the name has {len(given):,} characters; the limit is {LONGEST_NAME}", "Give a shorter one.")
    if problem := _line_problem(given):
        raise UsageError(f"the name {problem}", "Give one line of visible characters.")
    return given


def run_tags(value: object) -> dict[str, str]:
    """Return the tags of a run. Raises UsageError for invalid ones, and for more than 32."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"invalid value for tags: {shown(value)}", 'Pass texts by key: {"team": "data"}.')
    tags = cast("Mapping[object, object]", value)
    if len(tags) > MOST_TAGS:
        raise UsageError(f"there are {len(tags)} tags; the limit is {MOST_TAGS}", "Leave some out.")
    for key, tag in tags.items():
        if not isinstance(key, str) or not re.fullmatch(TAG_KEY, key):
            how = "Use 1 to 64 letters (a to z), digits and the characters _ . : / -"
            raise UsageError(f"invalid key of a tag: {shown(key)}", how)
        if len(text(tag, f"the tag {key}", "Give a text as its value.")) > LONGEST_TAG:
            raise UsageError(f"the tag {key} is too long", f"Give a value of up to {LONGEST_TAG} characters.")
        if problem := _line_problem(str(tag)):
            raise UsageError(f"the tag {key} {problem}", "Give one line of visible characters.")
    return dict(cast("Mapping[str, str]", tags))


def parse_tags(given: Iterable[str], where: str) -> dict[str, str]:
    """Return tags from texts such as ``team=data``, given to ``where``. Raises UsageError."""
    tags: dict[str, str] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals:
            raise UsageError(f"invalid value for {where}: {shown(each)}", "Give KEY=VALUE, such as team=data.")
        if key in tags:
            raise UsageError(f"{where} names {shown(key)} twice", "Give it once: a run has one value for each key.")
        tags[key] = value
    return run_tags(tags)


# --- approval policies -----------------------------------------------------------------------------------------------

Policy = Literal["ask", "auto", "never"]
"""The approval policies, by name."""
TRAITS = ("tool", "toolset", "effect", "origin")
"""What a rule can match; see :func:`~leadhand.core.approval.policy_of`."""
EXAMPLE = '"tool:send_*": "auto"'


def approval_policy(name: object, problem: str = "invalid value for approve") -> ApprovalPolicy:
    """Return the policy with this name. Raises UsageError, with this problem, for an unknown name."""
    try:
        return ApprovalPolicy(cast("str", name))
    except ValueError as error:
        how = f"Choose from: {', '.join(ApprovalPolicy)}; or pass rules: {{{EXAMPLE}}}."
        raise UsageError(f"{problem}: {shown(name)}", how, field="approve") from error


OTHERS = "*"
"""The key of the policy for all calls that no rule matches."""


class Approvals(TypedDict, total=False):
    """What decides about calls that need approval: rules, in order, and the policy for calls that none matches."""

    approve: ApprovalPolicy
    approve_rules: Mapping[str, ApprovalPolicy]


def approvals(given: object) -> Approvals:
    """Return what a policy, or rules by what they match, set. Raises UsageError for what is neither."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {"approve": approval_policy(given)}
    policies = {
        (name if name == OTHERS else _rule(name)): approval_policy(
            policy, f"invalid policy for {shown(name)} in approve"
        )
        for name, policy in cast("Mapping[Any, object]", given).items()
    }
    found: Approvals = {"approve": policies.pop(OTHERS)} if OTHERS in policies else {}
    return {**found, "approve_rules": FrozenDict(policies)}


def _policies(given: object) -> object:
    try:
        approvals(given)
    except UsageError as refused:
        raise ValueError(f"{refused.what}: {refused.how}") from refused
    return given


_ONE = {"type": "string", "enum": [*ApprovalPolicy]}
_NAMES = rf"^(\*|(tool|toolset|origin):[^\x00]+|effect:(\*|{'|'.join(Effect)}))$"
_BY_NAME = {"type": "object", "propertyNames": {"pattern": _NAMES}, "additionalProperties": _ONE}
Policies = Annotated[
    Policy | dict[str, Policy],
    PlainValidator(_policies),
    WithJsonSchema(
        {"anyOf": [_ONE, {"type": "object", "propertyNames": {"pattern": _NAMES}, "additionalProperties": _ONE}]}
    ),
]
"""A policy, or policies by what they match, in a file or a request."""


def check_rules(rules: Mapping[str, ApprovalPolicy], tools: Iterable[ToolSpec], toolbox: Toolbox) -> None:
    """Raise UsageError for a rule that names none of the ``tools`` of a run: a typo in a ``never`` rule is dangerous.

    Rules hold for all runs of a program or a project, so a rule can name a tool that only another run has. One with a
    wildcard can match nothing here; if it is not to allow anything, a line of the log says so.
    """
    tools = tuple(tools)
    names = {tool.name for tool in tools}
    known = [tool.called_with({"operation": each}) for tool in tools for each in ("", *tool.operations)]
    for rule, policy in rules.items():
        if policy is not ApprovalPolicy.AUTO and not any(matches(rule, each) for each in known):
            LOGGER.warning("the approval rule %s matches no tool of this run", rule)
        trait, _, pattern = rule.partition(":")
        if trait == "tool" and pattern not in names and not set(pattern) & set("*?[") and not toolbox.find(pattern):
            listed = ", ".join(sorted(names)) or "none"
            raise UsageError(f"the approval rule {rule} names no tool of this run", f"Its tools are: {listed}.")


def _rule(name: object) -> str:
    rule = text(name, "an approval rule", f"Name what it matches, such as {EXAMPLE}.")
    trait, colon, pattern = rule.partition(":")
    if not colon or trait not in TRAITS:
        listed = ", ".join(f"{known}:" for known in TRAITS)
        raise UsageError(f"unknown kind of approval rule: {shown(rule)}", f"Start the rule with {listed}.")
    if not pattern:
        raise UsageError(f"the approval rule {shown(rule)} has no pattern", f"Add a pattern, or match all: {rule}*")
    if trait == "effect" and not any(fnmatchcase(effect.value, pattern) for effect in Effect):
        listed = ", ".join(effect.value for effect in Effect)
        raise UsageError(f"unknown effect in the approval rule {shown(rule)}", f"Choose from: {listed}.")
    return rule


def _line_problem(text: str) -> str:
    """Return why a text is not one line that can be shown as it is, such as ``has more than one line``; "" if it is."""
    if len(f"{text}.".splitlines()) > 1:
        return "has more than one line"
    found = re.search(f"[{CONTROL}]", text)
    return f"has a control character, {found[0]!r}" if found is not None else ""
