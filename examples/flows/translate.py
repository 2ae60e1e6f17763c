"""A fan-out: translate a text into several languages at once.

Run it: leadhand run --offline --flows examples/flows/translate.py --flow translate "Good morning"
"""

from leadhand import Leadhand, Worker
from leadhand.flows import FlowContext, flow

translator = Worker("translator", "Translate `text` into `language`. Reply with the translation.", loop="reply")


def not_translated(facts, request):
    """What the offline model answers as the translator."""
    return f"{facts['text']} (not translated: offline)"


@flow(offline={translator: not_translated})
async def translate(run: FlowContext, languages: list[str] = ["French", "German"]) -> str:  # noqa: B006 - it is copied
    """Translate one text into several languages at once."""
    texts = await run.gather(run.ask(translator, text=run.request, language=each) for each in languages)
    return "\n".join(f"{language}: {text}" for language, text in zip(languages, texts, strict=True))


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[translate]).run_sync("Good morning", flow="translate", languages=["Dutch"]))
