"""A model adapter of your own, beside the built-in ones: here one that answers by turning a text around."""

from __future__ import annotations

import json
from collections.abc import Callable

from leadhand import Leadhand, Worker
from leadhand.core.conversation import AssistantMessage, UserMessage
from leadhand.core.limits import Usage
from leadhand.flows import FlowContext, flow
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest


class Mirror:
    """An adapter: one call of a model, what is known of it, and how to close it. Raise ``ModelError`` for a failure."""

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        facts = next(message.text for message in request.messages if isinstance(message, UserMessage))
        text = json.loads(facts)["text"][::-1]
        if on_text is not None:
            on_text(text)
        usage = Usage(requests=1, input_tokens=len(facts), output_tokens=len(text), nanousd=0)
        return ModelReply(message=AssistantMessage(text=text), usage=usage, model=request.model)

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, window=8_000, free=True)

    async def aclose(self) -> None:
        """Close connections, if there are any."""


mirror = Worker("mirror", "Turn `text` around.", loop="reply")


@flow
async def turn_round(run: FlowContext):
    """Have one worker answer the request."""
    return await run.ask(mirror, text=run.request, final=True)


if __name__ == "__main__":
    lead = Leadhand("mirror:glass", models={"mirror": Mirror()}, flows=[turn_round])
    answer = lead.run_sync("Good morning", flow="turn-round")
    print(answer.text, answer.status, answer.cost_usd)
