"""Settings of a process: home, database, models, limits."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from leadhand.app.arguments import approvals, model_names, name, shown
from leadhand.app.arguments import limits as limits_given
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.limits import CONCURRENCY, Concurrency, Limits, Money, SharedBudget, SharedLimit
from leadhand.core.run import WORKER_CALLS, WorkerCalls
from leadhand.core.tool import ApprovalPolicy
from leadhand.core.value import FrozenDict
from leadhand.core.work_result import CHECKS, Check
from leadhand.ports.hosts import HEARTBEAT_LIMIT_S
from leadhand.tools import services

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project

HEARTBEAT_RANGE_S = (0.5, 600.0)
MOST_AT_ONCE = 100_000
PREFIX = "LEADHAND_"
VARIABLES = (
    "BASE_URL",
    "CHECK",
    "CONCURRENCY",
    "DATABASE_URL",
    "DOCUMENTS",
    "HEARTBEAT_LIMIT",
    "HOME",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "MODEL",
    "PRICE",
    "WINDOW",
)
"""The variables that Leadhand reads, besides the addresses of services, without their prefix."""
LOGGER = logging.getLogger("leadhand.settings")
_Choice = TypeVar("_Choice", bound=str)
HELD_BACK_SHARE = 5
"""One part in this many of the money, tokens and time is kept for reviewing results and composing the answer."""
LONGEST_HELD_BACK_S = 120.0
"""The most seconds that are kept for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``home`` holds the database (unless ``database`` names another) and the runs' files.

    ``models`` are names by use; ``model`` None lets the environment decide. ``offline``: nothing leaves the machine.
    ``documents`` is the absolute path of the directory that tools can search ("" for none). With ``only_documents``,
    they search nothing else, so that no query leaves the machine.
    ``project`` is the project that the process works for.
    ``concurrency`` is how many steps of all runs this process carries out at once. After ``heartbeat_limit_s``
    seconds without a heartbeat, other machines consider the process dead. ``budgets`` are those of a key,
    ``shared`` its limits at once.
    ``check`` says who checks answers (None: a
    judge, and nobody in offline runs); with ``strict``, doubts make a run partial. ``worker_calls`` says whether a
    model writes the result of every subtask (``always``; None: ``auto``).
    """

    home: Path
    database: str
    model: str | None = None
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    offline: bool = False
    documents: str = ""
    only_documents: bool = False
    project: Project | None = None
    limits: Limits = field(default_factory=Limits)
    concurrency: int = CONCURRENCY
    heartbeat_limit_s: float = HEARTBEAT_LIMIT_S
    budgets: tuple[SharedBudget, ...] = ()
    shared: Concurrency = field(default_factory=Concurrency)
    check: Check | None = None
    strict: bool = False
    worker_calls: WorkerCalls | None = None
    approve: ApprovalPolicy = ApprovalPolicy.ASK
    approve_rules: Mapping[str, ApprovalPolicy] = field(default_factory=dict[str, ApprovalPolicy])
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __post_init__(self) -> None:
        for each in ("models", "approve_rules", "environment"):
            object.__setattr__(self, each, FrozenDict(getattr(self, each)))
        if self.only_documents and not self.documents:
            raise UsageError("only_documents is set, and there is no directory of documents", _DIRECTORY)

    @property
    def needs_prices(self) -> bool:
        """Whether every model needs a known price, since somebody set a budget."""
        return self.limits.needs_prices or (bool(self.budgets) and not self.limits.allow_unknown_price)

    @property
    def concurrency_of_runs(self) -> Concurrency:
        """The limits at once that runs share with others: the project's, and those in ``shared``."""
        if self.project is None:
            return self.shared
        given, name = self.project.manifest.concurrency, self.project.manifest.name
        own = () if given.project is None else (SharedLimit(scope=f"the project `{name}`", most=given.project),)
        models = {**given.models, **self.shared.models}
        return Concurrency(models=models, steps=(*self.shared.steps, *own))

    @property
    def database_path(self) -> Path | None:
        """The file of an SQLite database; None for a server."""
        if self.database.startswith("sqlite:///"):
            return Path(self.database.removeprefix("sqlite:///"))
        return None if "://" in self.database else Path(self.database)


def settings(
    *,
    home: Path | str | None = None,
    database: Path | str | None = None,
    model: str | Mapping[str, str] | None = None,
    offline: bool | None = None,
    documents: Path | str | None = None,
    concurrency: int | None = None,
    check: Check | None = None,
    worker_calls: WorkerCalls | None = None,
    approve: object = None,
    limits: Limits | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    **others: Any,
) -> Settings:
    """Return settings from the arguments, else the environment, else the defaults. ``others`` are fields of Settings.

    The ``model`` ``offline`` uses sample data, unless ``offline`` is False. Raises UsageError for a name that is
    empty or not text, for a concurrency out of range, for ``documents`` that are not a directory, for an unknown
    ``check``, ``worker_calls`` or approval policy, and for a ``base_url`` or an ``api_key``, which are those of the
    provider of the ``model``, that cannot be used.
    """
    report_misspelt(os.environ)
    models = model_names(model)
    named = models.pop("default", None)
    offline = named == "offline" and not models if offline is None else offline
    env = _with_server(os.environ, named, base_url, api_key)
    home = name(str(home) if isinstance(home, Path) else home, "home", "Pass a directory, or omit it.")
    where = Path(home or env.get("LEADHAND_HOME") or default_home()).expanduser()
    database = str(database) if isinstance(database, Path) else database
    database = name(database, "database", "Pass a file or a postgresql://… URL, or omit it.")
    return Settings(
        home=where,
        database=database or env.get("LEADHAND_DATABASE_URL") or f"sqlite:///{where / 'leadhand.db'}",
        model="offline" if offline else named or env.get("LEADHAND_MODEL") or None,
        models={} if offline else models,
        offline=offline,
        documents=documents_at(documents, env),
        limits=limits_given(limits),
        concurrency=int(_number("concurrency", concurrency, env, CONCURRENCY, (1, MOST_AT_ONCE))),
        check=choice("check", check, CHECKS, env),
        worker_calls=choice("worker_calls", worker_calls, WORKER_CALLS),
        **approvals(approve),
        heartbeat_limit_s=_number("heartbeat_limit", None, env, HEARTBEAT_LIMIT_S, HEARTBEAT_RANGE_S),
        environment=env,
        **others,
    )


def report_misspelt(env: Mapping[str, str]) -> None:
    """Write a warning for each variable whose name is almost that of one that Leadhand reads."""
    known = [*VARIABLES, *(services.setting(each).removeprefix(PREFIX) for each in services.SERVICES)]
    strange = {each.removeprefix(PREFIX) for each in env if each.startswith(PREFIX)}.difference(known)
    for each in strange:
        from difflib import get_close_matches  # only messages need it

        for near in get_close_matches(each, known, 1, 0.75):
            LOGGER.warning("the variable %s%s is not read; did you mean %s%s?", PREFIX, each, PREFIX, near)


def _with_server(
    env: Mapping[str, str], model: str | None, base_url: str | None, api_key: str | None
) -> Mapping[str, str]:
    """Return the environment with the address and the key of a model's provider. Raises UsageError."""
    if base_url is None and api_key is None:
        return env
    from leadhand.models.providers import ANY_SERVER, provider_of
    from leadhand.models.server_settings import checked_base_url, checked_key

    provider = provider_of(model or env.get("LEADHAND_MODEL") or "") or ANY_SERVER
    changed = dict(env)
    try:
        if base_url is not None:
            changed[provider.url_variables[0]] = checked_base_url(base_url, setting="base_url")
        if api_key is not None and not provider.key_variables:
            how = f"Leave it out, or use the model openai_compatible:NAME with base_url={provider.base_url!r}."
            raise UsageError(f"{provider.title} takes no api_key", how)
        if api_key is not None:
            changed[provider.key_variables[0]] = checked_key(api_key, "api_key")
    except ConfigurationError as error:
        raise UsageError(error.what, error.how) from error
    return changed


def _said(setting: str, given: object, env: Mapping[str, str]) -> tuple[str, object]:
    """Return the value of a setting, None without one, and what a message calls it: the argument, or its variable."""
    variable = f"LEADHAND_{setting.upper()}"
    return (setting, given) if given is not None else (variable, env.get(variable, "").strip() or None)


def documents_at(given: Path | str | None, env: Mapping[str, str] = FrozenDict()) -> str:
    """Return the absolute path of the directory of documents; "" for none."""
    _, said = _said("documents", given, env)
    if said is None:
        return ""
    directory = Path(name(str(said), "documents", _DIRECTORY) or "").expanduser().resolve()
    if not directory.is_dir():
        raise UsageError(f"the documents {shown(said)} are not a directory", _DIRECTORY)
    return str(directory)


def _number(
    setting: str, given: float | None, env: Mapping[str, str], usual: float, span: tuple[float, float]
) -> float:
    """Return a number in a span, of the kind of the usual one. Raises UsageError for any other value."""
    what, said = _said(setting, given, env)
    kind, value = type(usual), said
    if isinstance(said, str):
        with contextlib.suppress(ValueError):
            value = kind(said)
    if said is None:
        return usual
    if type(value) is not kind or not span[0] <= value <= span[1]:
        how = f"Use a {'whole number' if kind is int else 'number'} from {span[0]:g} to {span[1]:,.0f}."
        raise UsageError(f"invalid value for {what}: {shown(said)}", how)
    return value


def choice(
    setting: str, given: object, choices: tuple[_Choice, ...], env: Mapping[str, str] = FrozenDict()
) -> _Choice | None:
    """Return one of some choices, or None if there is no value. Raises UsageError for any other value."""
    what, value = _said(setting, given, env)
    found = next((each for each in choices if each == value), None)
    if value is not None and found is None:
        how = f"Choose from: {', '.join(choices)}."
        raise UsageError(f"invalid value for {what}: {shown(value)}", how, field=setting if what == setting else "")
    return found


_DIRECTORY = "Pass a directory that exists with --documents DIR, documents=… or LEADHAND_DOCUMENTS, or omit it."


def default_home() -> Path:
    """The default home in this user's data directory."""
    import platformdirs

    return Path(platformdirs.user_data_dir("leadhand", appauthor=False))


def make_home(home: Path) -> Path:
    """Create the home if necessary and return it. Raises ConfigurationError if it is not writable."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for directory in (home, home / "runs"):
            if directory.exists():
                # Other processes may test the directory too, so the name is unique.
                probe = directory / f".writable-{os.getpid()}-{os.urandom(4).hex()}"
                probe.touch(exist_ok=False)
                probe.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the home directory {home} is not writable: {error.strerror or error}",
            "Choose another one with --home DIR or LEADHAND_HOME.",
        ) from error
    return home


class Reserves(TypedDict):
    """What a run keeps for reviews and the answer."""

    held_back: Money
    held_back_s: float


def reserves(limits: Limits, stages: int) -> Reserves:
    """Return what is kept for the ``stages`` that close a run: requests, and a share of the money, tokens and time.

    The first two are the evaluation and the answer; each further one (a typed answer, its judgement) is one request
    more, and half as much again of the rest.
    """
    requests = limits.max_requests or 0
    held_back = Money(
        requests=min(stages - 1 + max(1, requests // 10), max(requests - 1, 0)),
        tokens=(limits.max_tokens or 0) * stages // (2 * HELD_BACK_SHARE),
        nanousd=(limits.ceiling.nanousd or 0) * stages // (2 * HELD_BACK_SHARE),
    )
    seconds = min((limits.timeout or 0.0) / HELD_BACK_SHARE, LONGEST_HELD_BACK_S)
    return {"held_back": held_back, "held_back_s": seconds}


def tilde(path: Path | str) -> str:
    """Format a path with ``~`` for the user's home directory."""
    text = os.path.abspath(path)
    home = os.path.expanduser("~")
    return "~" + text[len(home) :] if home not in ("", "/") and text.startswith(home + os.sep) else text


def user() -> str:
    """Return the name of this machine's user, as the log shows it."""
    import getpass  # few runs have a request of a person

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
