"""A flow with options and two rounds: translate a text into several languages, then have each translation checked.

Run it: leadhand run --flows examples/flows/translate.py --flow translate --option 'languages=["French"]' "Good morning"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from leadhand import Leadhand
from leadhand.flows import Finish, Flow, IssueStep, OfflineRequest, Outcome, RunView, Worker


class Check(BaseModel):
    """What a checker answers: the translation as it should be."""

    text: str
    changed: bool


def not_translated(facts: Mapping[str, Any], request: OfflineRequest) -> str:
    """What the offline model does as a translator: it cannot translate, and says so."""
    return f"{facts['text']} (not translated into {facts['language']}: this is the offline model)"


def unchanged(facts: Mapping[str, Any], request: OfflineRequest) -> dict[str, Any]:
    """What the offline model does as a checker: leave the translation alone."""
    return {"text": facts["translation"], "changed": False}


class Translate(Flow):
    """Translate one text into several languages at once, and check each translation in a second round."""

    name = "translate"
    offline = {"translator": not_translated, "checker": unchanged}

    class Options(Flow.Options):
        languages: list[str] = ["French", "German"]
        check: bool = True

    def roles(self, options: Options) -> list[Worker]:
        translate = "Translate `text` into `language`. Reply with the translation and nothing else."
        check = "Correct `translation`, a translation of `text` into `language`. Reply as JSON: `text`, `changed`."
        return [
            Worker(name="translator", instructions=translate, loop="reply", counts=not options.check),
            Worker(name="checker", instructions=check, output=Check, loop="reply", counts=True),
        ]

    def next(self, run: RunView[Options]) -> list[IssueStep | Finish]:
        if run.open:
            return []
        first, second = run.of("translator"), run.of("checker")
        if not first:
            return [
                IssueStep(id=f"to-{n}", worker="translator", title=each, input={"text": run.request, "language": each})
                for n, each in enumerate(run.options.languages)
            ]
        if run.options.check and not second:
            return [
                IssueStep(id=f"check-{d.id}", worker="checker", title=d.title, input={**d.input, "translation": d.text})
                for d in first
                if d.ok
            ] or [Finish()]
        return [Finish()]

    def outcome(self, run: RunView[Options]) -> Outcome:
        done = [each for each in run.of("checker" if run.options.check else "translator") if each.ok]
        lines = [f"{each.title}: {each.value['text'] if run.options.check else each.text}" for each in done]
        return Outcome(answer="\n".join(lines), uses=[each.id for each in done])


if __name__ == "__main__":
    print(Leadhand(offline=True, flows=[Translate()]).run_sync("Good morning", flow="translate", languages=["Dutch"]))
