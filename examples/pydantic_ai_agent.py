"""An agent of Pydantic AI as the tool of a worker. What it spends counts against the budget of the run.

    OPENAI_API_KEY=… LEADHAND_MODEL=openai:gpt-5-mini python examples/pydantic_ai_agent.py

It needs pydantic-ai-slim[openai].
"""

from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

from leadhand import Leadhand, Limits, ToolContext, Worker, tool

MODEL = "gpt-5-mini"
REQUESTS, TOKENS = 5, 20_000
"""The most that one call of the agent uses: reserved in the budget before it starts, and its own limit."""

librarian = Agent(f"openai-chat:{MODEL}", instructions="Answer from the catalogue.", defer_model_check=True)


@librarian.tool_plain
def catalogue(title: str) -> str:
    """Look a book up."""
    return f"{title}: shelf 7, two copies"


@tool(timeout=120)
async def ask_librarian(question: str, context: ToolContext) -> str:
    """Ask the librarian, who knows where every book is."""
    limits = UsageLimits(request_limit=REQUESTS, total_tokens_limit=TOKENS)
    async with context.spend(f"openai:{MODEL}", question, requests=REQUESTS, tokens=TOKENS) as spent:
        result = await librarian.run(question, usage_limits=limits)
        used = result.usage
        spent.book(
            requests=used.requests,
            input_tokens=used.input_tokens,
            cached_tokens=used.cache_read_tokens,
            output_tokens=used.output_tokens,
        )
        return result.output


if __name__ == "__main__":
    desk = Worker("desk", "Answer readers. Ask the librarian where a book is.", tools=[ask_librarian])
    answer = Leadhand(tools=[], limits=Limits(budget=0.5)).run_sync("Where is Dune?", worker=desk)
    print(answer.text)
    print(f"{answer.usage.requests} requests, {answer.usage.input_tokens} tokens in, ${answer.cost_usd:.6f}")
