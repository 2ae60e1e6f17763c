"""Every adapter keeps the contract of models: the built-in one, a scripted one, and a server over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from faulty_contract import AFTER, LIMIT_S, FaultyModelsContract

from leadhand.models.offline import OfflineModels
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.models.router import ModelRouter
from leadhand.ports.models import ModelReply, ModelRequest
from leadhand.testing.faults import Fault, served_by
from leadhand.testing.model_contract import PATIENCE_S, ModelsContract, Opened
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, fails, says
from leadhand.testing.steps import Step


class TestOfflineModels(ModelsContract):
    @asynccontextmanager
    async def serving(self, *answers: Step) -> AsyncIterator[Opened]:
        yield Opened(OfflineModels(), "offline")


class TestOfflineModelsOverHttp(ModelsContract):
    @asynccontextmanager
    async def serving(self, *answers: Step) -> AsyncIterator[Opened]:
        async with ScriptedServer(served_by(OfflineModels())) as server:
            models = OpenAICompatible(server.base_url)
            yield Opened(models, "openai_compatible:anything")
            await models.aclose()


class TestScriptedModel(FaultyModelsContract):
    @asynccontextmanager
    async def serving(self, *answers: Step) -> AsyncIterator[Opened]:
        with ScriptedModel(answers) as models:
            yield _scripted(models)

    @asynccontextmanager
    async def faulty(self, fault: Fault) -> AsyncIterator[Opened]:
        failure = fails(
            fault.class_,
            fault.name,
            fault.what,
            retry_after_s=fault.retry_after_s,
            next_action="see the other side",
            after_saying="half an answer" if fault.streamed else "",
        )
        late = says("late").after(3_600)
        with ScriptedModel([late if fault.slow and not fault.streamed else failure, AFTER]) as models:
            yield _scripted(models)


def _scripted(models: ScriptedModel) -> Opened:
    return Opened(models, "scripted", lambda: len(models.requests), lambda: models.abandoned)


class _Hasty(OpenAICompatible):
    """The adapter with requests whose answer has to begin within ``limit_s``."""

    limit_s = PATIENCE_S

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        return await super().ask(request.evolve(patience_s=self.limit_s), on_text)


class TestOpenAICompatible(FaultyModelsContract):
    @asynccontextmanager
    async def serving(self, *answers: Step) -> AsyncIterator[Opened]:
        async with ScriptedServer(answers) as server:
            models = OpenAICompatible(server.base_url)
            yield _over_http(models, server)
            await models.aclose()

    @asynccontextmanager
    async def faulty(self, fault: Fault) -> AsyncIterator[Opened]:
        async with ScriptedServer([fault.serve(), AFTER]) as server:
            limit_s = LIMIT_S if fault.slow else PATIENCE_S
            models = _Hasty(server.base_url, idle_timeout_s=limit_s)
            models.limit_s = limit_s
            yield _over_http(models, server)
            await models.aclose()


class TestRouter(ModelsContract):
    @asynccontextmanager
    async def serving(self, *answers: Step) -> AsyncIterator[Opened]:
        async with ScriptedServer(answers) as server:
            router = ModelRouter(env={"OLLAMA_BASE_URL": server.base_url})
            yield Opened(router, "ollama:anything")
            await router.aclose()


def _over_http(models: OpenAICompatible, server: ScriptedServer) -> Opened:
    return Opened(models, "openai_compatible:scripted", lambda: len(server.requests), lambda: server.abandoned)
