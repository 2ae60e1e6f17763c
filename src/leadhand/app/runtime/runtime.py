"""The one place where a process's store, models, tools and hosts are connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec

from leadhand.app.export.document import write_work_order
from leadhand.app.project.flows import DEFAULT, FlowRegistry
from leadhand.app.project.toolsets import check_hooks, check_tools, needed_tools
from leadhand.app.requests import Requests
from leadhand.app.run_settings import NewRun, Output, fits_of
from leadhand.app.runtime.clock import IdempotentId, SleepWatch, SystemClock, new_run_id, rare_collections
from leadhand.app.runtime.definitions import definition_of_new, missing
from leadhand.app.runtime.live_texts import LiveTexts
from leadhand.app.runtime.membership import Membership, host_wait, membership
from leadhand.app.runtime.model_selection import Choice, NamedModels, choose_models
from leadhand.app.runtime.webs import Webs
from leadhand.app.settings import Settings
from leadhand.app.telemetry.run_lines import note_begin, note_end
from leadhand.app.telemetry.tracing import telemetry
from leadhand.core.errors import ConfigurationError, UnreadableRun
from leadhand.core.events import AnyEvent, Entry
from leadhand.core.evolve import foreseen, start
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine import loading
from leadhand.engine.calls.limiter import Limiter
from leadhand.engine.calls.model_calls import ModelCalls
from leadhand.engine.calls.spending import Spending
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.engine.controller import Controller, OnEntries, OnState
from leadhand.engine.hooks import Hooks
from leadhand.engine.log import RunLog
from leadhand.engine.redaction import Redactor
from leadhand.engine.session.host import Host
from leadhand.ports import ContextStore, Dispatcher, Models
from leadhand.ports.heads import head_of
from leadhand.ports.hosts import HostKind
from leadhand.stores.sql_store import SqlContextStore
from leadhand.tools.toolbox import Toolbox
from leadhand.verify.judge import Verifier

if TYPE_CHECKING:
    from leadhand.app.export.shapes import RunDocument

WAITING_RUNS = 100
"""Runs that wait for people and whose states are kept."""
LOGGER = logging.getLogger("leadhand")
_P = ParamSpec("_P")


@dataclass(eq=False, kw_only=True)
class Runtime:
    """Everything a process needs to drive runs. Opened by ``open_runtime``; belongs to one event loop.

    Functions in ``watchers`` receive each batch of entries that is committed while this process drives a run. Functions
    in ``on_release`` receive the last known state of a run when this process stops driving it, for any reason.
    """

    settings: Settings
    store: ContextStore
    models: NamedModels
    choice: Choice
    toolbox: Toolbox
    flows: FlowRegistry
    hooks: Hooks
    verifier: Verifier | None = None

    def __post_init__(self) -> None:
        self.watchers: list[OnEntries] = []
        self.on_release: list[OnState] = []
        self._clock = SystemClock()
        self.redactor = Redactor.of_environment(self.settings.environment, self.toolbox.keys)
        self.web = Webs(self.settings, self.store, self._clock, self.redactor)
        self._driving: set[asyncio.Task[RunState]] = set()
        self._held: dict[str, RunState] = {}
        self.requests = Requests(self.load, self.log, self._remember, self._clock)
        self._waiting: dict[str, RunState] = {}
        """Runs that wait for people, by when they were used last."""
        self.answered: set[str] = set()
        """The runs of which a caller in Python answered something, and that this process has not taken over since."""
        self._outputs: dict[str, Output] = {}
        self._sleep = SleepWatch()
        self._watching: asyncio.Task[None] | None = None
        self._reported: set[tuple[str, str]] = set()
        self._telemetry = telemetry(self.settings.environment)
        for observer in () if self._telemetry is None else self._telemetry.observers:
            self.watchers.append(observer.watch)
            self.on_release.append(observer.release)
        self.texts = LiveTexts()
        self.cluster = membership(self.store, self.settings, self.flows, self.toolbox, self.texts.pass_on)
        """This process among those that share its database; None if they are all on this machine."""
        self.texts.elsewhere = None if self.cluster is None else self.cluster.live
        limiter = Limiter(self.store, self._clock)  # by all calls of the process, also with other processes
        self._model_calls = ModelCalls(self.models, self.store, self._clock, limiter)
        self.tool_calls = ToolCalls(
            self.toolbox.bound,
            self.web,
            self._clock,
            self.store,
            self.web.library,
            self.web.workshop,
            hooks=self.hooks,
            limiter=limiter,
            deps=self.toolbox.deps_of,
            spending=partial(Spending, self._model_calls),
        )
        self._host = Host(self.store, self._model_calls, self.tool_calls, self.redactor, self.texts.listener)
        self.dispatcher: Dispatcher = LocalDispatcher(self._host, self._clock, self.settings.concurrency)
        if self.cluster is not None:
            self.dispatcher = self.cluster.dispatcher(self._host, self._clock)

    @property
    def database(self) -> SqlContextStore:
        """The store, for what only a database keeps. Raises ConfigurationError for another store."""
        if not isinstance(self.store, SqlContextStore):
            what = "this store keeps runs only: no API keys or webhooks, and it cannot delete runs or be backed up"
            raise ConfigurationError(what, "Use SQLite or PostgreSQL.")
        return self.store

    async def start(
        self,
        request: str,
        *,
        flow: str = DEFAULT,
        options: Mapping[str, Any] | None = None,
        asked: Settings | None = None,
        once: IdempotentId | None = None,
        follows: RunState | None = None,
        handed_over: bool = False,
        run: NewRun | None = None,
        model: Models | None = None,
        **given: Any,
    ) -> RunState:
        """Create a run. This process or, if it is ``handed_over`` in a cluster, a server or host has to drive it.

        ``options`` are those of the flow. ``asked`` are the settings of this run. It follows up ``follows``, and has
        the tags of that run, too. ``once`` chooses its id. ``run``, or what is ``given`` in place of it, is what only
        this run has, ``model`` an adapter for all its workers. Raises UsageError and ConfigurationError.
        """
        wanted = self.settings if asked is None else asked
        await self.toolbox.open()
        if model is None:
            choice = self.choice if asked is None else (await choose_models(asked, self.models))[1]
        else:
            choice = self.models.choice(wanted, model)
        run = run or NewRun(**given)
        definition = await definition_of_new(
            self,
            request,
            flow,
            options or {},
            wanted,
            choice._replace(models=await self.models.learn(choice.models)),
            run,
            submission=once.submission if once is not None else "",
            follows=follows,
        )
        run_id = once.run_id if once is not None else new_run_id()
        handed = self.cluster is not None and handed_over
        jobs: dict[str, Any] = {"jobs": Membership.jobs(run_id)} if handed else {}
        entry = await self.log(run_id).create(definition, **jobs)
        if isinstance(run.output, type):
            self._outputs[run_id] = run.output
        self.give(run_id, run.deps)
        return start(run_id, entry)

    async def load(self, run_id: str, known: RunState | None = None) -> RunState:
        """The state of a run, folded from its log: only what is new since a state that is ``known``, by the caller or
        since the run is driven here or waits."""
        if (held := self._held.get(run_id)) is not None:
            return await loading.catch_up(self.store, held)
        state = await loading.load(self.store, run_id, self._waiting.get(run_id, known))
        self._remember(state)
        return state

    def _remember(self, state: RunState) -> None:
        """Keep the state of a run that waits, since people look at it and answer it one request at a time."""
        self._waiting.pop(state.run_id, None)
        if state.status is RunStatus.WAITING and state.run_id not in self._held:
            self._waiting[state.run_id] = state
            if len(self._waiting) > WAITING_RUNS:
                del self._waiting[next(iter(self._waiting))]

    async def document(self, run_id: str, known: RunState | None = None) -> RunDocument:
        """The run document as of now, from a state that is ``known``. Raises NoSuchRun."""
        from leadhand.app.export.run_document import followed_by, run_document  # most processes show no document

        state, listing = await self.load(run_id, known), await self.store.run(run_id)
        later, wait = await followed_by(self.store, listing), await host_wait(self.store, state, listing)
        return run_document(state, owner=listing.owner, task=self.flows.task(state), later=later, wait=wait)

    async def take_over(
        self, run_id: str, *requests: AnyEvent, ended: bool = False, known: RunState | None = None
    ) -> RunState:
        """Become the owner of a run that no process drives, record ``requests``, and return its state.

        ``ended`` also takes over a run that is over, to carry out a request; ``known`` is as for :meth:`load`. Raises
        RunOwned while its owner lives, UsageError when it is over, ConfigurationError when its flow, or a tool that it
        still needs, is not in this process; then nothing is recorded.
        """
        before = await self.load(run_id, known)
        if ended or before.finished is None:
            self.check_resumable(before)
        if before.finished is None:
            await missing(self.store, before.definition.earlier)
        await self.store.claim(run_id, ended=ended)
        self.answered.discard(run_id)
        state = await loading.catch_up(self.store, before)
        if requests:
            head = head_of(foreseen(state, requests, self._clock.now()))
            await self.log(run_id).append(*requests, epoch=state.epoch, head=head)
            state = await loading.catch_up(self.store, state)
        return state

    def check_resumable(self, state: RunState) -> None:
        """Raise ConfigurationError when this process lacks the flow, a tool, a model or the objects of the run, or is
        offline."""
        if state.definition.own_deps and state.run_id not in self.toolbox.deps_of_runs:
            raise ConfigurationError(
                f"run {state.run_id} was started with deps of its own, which this process does not have",
                f"Continue it in Python: lead.resume({state.run_id!r}, deps=…).",
            )
        self.flows.check_code(state.definition, ended=state.finished is not None)
        check_tools(needed_tools(state), self.toolbox)
        check_hooks(self.hooks, state.definition)
        if state.finished is None:
            for name in state.definition.models.names:
                self.models.check(name)
        if self.settings.offline and not state.definition.offline:
            raise ConfigurationError(
                f"run {state.run_id} may use the network, and this process runs offline", "Resume it without --offline."
            )

    def driving(self, state: RunState, on_state: Callable[[RunState], None] | None = None) -> asyncio.Task[RunState]:
        """Call :meth:`drive` in the background of this loop; closing the runtime stops it and releases the run."""
        task = asyncio.get_running_loop().create_task(self.drive(state, on_state), name=state.run_id)
        self._driving.add(task)
        task.add_done_callback(self._driving.discard)
        return task

    async def drive(self, state: RunState, on_state: Callable[[RunState], None] | None = None) -> RunState:
        """Drive a run that this process owns until it is over, paused or waiting for people; then release it."""
        flow = self.flows.of(state.definition)
        written = (0, 0)

        def note(now: RunState, entries: list[Entry]) -> None:
            nonlocal written
            self._held[state.run_id] = now
            if (known := (len(now.orders), sum(not each.open for each in now.orders.values()))) != written:
                written = known
                write_work_order(self.settings.home, now)
            if on_state is not None:
                on_state(now)
            self._notify(self.watchers, now, entries)

        controller = Controller(
            state,
            log=self.log(state.run_id),
            store=self.store,
            flow=flow,
            dispatcher=self.dispatcher,
            clock=self._clock,
            on_entries=note,
            asleep=self._asleep_s,
            hooks=self.hooks,
            fits=fits_of(self._outputs.get(state.run_id), state.definition.worker(state.definition.shape)),
            verifier=self.verifier,
            deps=self.toolbox.deps_of(state.run_id),
        )
        self._held[state.run_id] = state
        note_begin(state)
        try:
            if self.cluster is not None:
                await self.cluster.join(HostKind.RUN)
            if state.status is RunStatus.RUNNING:
                await self.models.learn(state.definition.models)  # another process may have started it
            with rare_collections():
                state = self._held[state.run_id] = await controller.drive()
            return state
        finally:
            last = self._held.pop(state.run_id)
            self._notify((note_end, *self.on_release), last)
            self._remember(last)
            if last.finished is not None:
                self._outputs.pop(state.run_id, None)
                self.toolbox.deps_of_runs.pop(state.run_id, None)
            self.forget(state.run_id)
            if last.orders:
                write_work_order(self.settings.home, last)
            await self.store.release(state.run_id, state.epoch)

    @contextmanager
    def lending(self, run_id: str, deps: Any) -> Generator[None]:
        """Give a run these objects of its own inside the block; who drives it afterwards gives them to it for good."""
        lent, before = self.toolbox.deps_of_runs, self.toolbox.deps_of_runs.get(run_id)
        self.give(run_id, deps)
        try:
            yield
        finally:
            lent.pop(run_id, None)
            self.give(run_id, before)

    def output_of(self, run_id: str) -> Output:
        """Return the type of the answer of a run that was started here and has not ended; None for text."""
        return self._outputs.get(run_id)

    def give(self, run_id: str, deps: Any) -> None:
        """Give the tools and workers of a run objects of its own, which the log does not have; None: nothing."""
        if deps is not None:
            self.toolbox.deps_of_runs[run_id] = deps

    def forget(self, run_id: str) -> None:
        """Forget what is kept in memory of a run that has nothing to do here."""
        self._model_calls.forget(run_id)

    def _asleep_s(self) -> float:
        """The seconds that this process was asleep since it began to drive runs."""
        if self._watching is None:
            self._sleep = SleepWatch()
            self._watching = asyncio.get_running_loop().create_task(self._sleep.watch())
        return self._sleep.asleep_s()

    def _notify(self, watchers: Iterable[Callable[_P, None]], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call every watcher. A watcher that fails affects neither the run nor other watchers.

        Each class of error is logged once, without its message, which may quote a run's content.
        """
        for watcher in list(watchers):
            try:
                watcher(*args, **kwargs)
            except Exception as error:
                said = (getattr(watcher, "__qualname__", type(watcher).__qualname__), type(error).__qualname__)
                if said not in self._reported:
                    self._reported.add(said)
                    LOGGER.error("a watcher failed, and the run continues: %s raised %s", *said)

    def warn_once(self, error: UnreadableRun) -> None:
        """Log that a run cannot be read, unless that was logged before."""
        if (error.run_id, error.code) not in self._reported:
            self._reported.add((error.run_id, error.code))
            LOGGER.warning("%s", " ".join(str(error).split()))

    def log(self, run_id: str) -> RunLog:
        """A run's log, to append requests to."""
        return RunLog(self.store, run_id, self.redactor)

    async def aclose(self) -> None:
        """Stop what runs, close connections, release every run."""
        driving = list(self._driving)
        for task in driving:
            task.cancel()
        await asyncio.gather(*driving, return_exceptions=True)
        if self._watching is not None:
            self._watching.cancel()
        if self._telemetry is not None:
            await self._telemetry.aclose()
        for part in (self.dispatcher, self.toolbox, self.web, self.models, self.store):
            await part.aclose()
