"""An agent of the OpenAI Agents SDK as the tool of a worker. What it spends counts against the budget of the run.

    OPENAI_API_KEY=… LEADHAND_MODEL=openai:gpt-5-mini python examples/openai_agent.py

It needs openai-agents.
"""

from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_api

from leadhand import Leadhand, Limits, ToolContext, Worker, tool

set_default_openai_api("chat_completions")
MODEL = "gpt-5-mini"
TURNS, OUTPUT, INPUT = 5, 1_000, 4_000
"""The most that one call of the agent uses: turns, and tokens of each. They are reserved in the budget before it
starts. The SDK limits turns and output; the input of a turn is the question and what the tools return."""


@function_tool
def catalogue(title: str) -> str:
    """Look a book up."""
    return f"{title}: shelf 7, two copies"


librarian = Agent(
    "librarian",
    instructions="Answer from the catalogue.",
    model=MODEL,
    model_settings=ModelSettings(max_tokens=OUTPUT),
    tools=[catalogue],
)


@tool(timeout=120)
async def ask_librarian(question: str, context: ToolContext) -> str:
    """Ask the librarian, who knows where every book is."""
    async with context.spend(f"openai:{MODEL}", question, requests=TURNS, tokens=TURNS * (INPUT + OUTPUT)) as spent:
        result = await Runner.run(librarian, question[:INPUT], max_turns=TURNS)
        used = result.context_wrapper.usage
        spent.book(
            requests=used.requests,
            input_tokens=used.input_tokens,
            cached_tokens=used.input_tokens_details.cached_tokens,
            output_tokens=used.output_tokens,
        )
        return str(result.final_output)


if __name__ == "__main__":
    desk = Worker("desk", "Answer readers. Ask the librarian where a book is.", tools=[ask_librarian])
    answer = Leadhand(tools=[], limits=Limits(budget=0.5)).run_sync("Where is Dune?", worker=desk)
    print(answer.text)
    print(f"{answer.usage.requests} requests, {answer.usage.input_tokens} tokens in, ${answer.cost_usd:.6f}")
