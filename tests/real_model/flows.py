"""A flow for a weak model: its steps are fixed, and each of them asks for something small."""

from __future__ import annotations

from leadhand.flows import Finish, Flow, IssueStep, Outcome, RunView, Worker

COLOURS = ("red", "green", "blue")
CHOICE = {
    "type": "object",
    "properties": {"colour": {"enum": list(COLOURS)}},
    "required": ["colour"],
    "additionalProperties": False,
}


class Ask(Flow):
    """Send the request to the model ``times`` times. It chooses a colour, or writes what it likes if it is ``free``."""

    name = "ask"

    class Options(Flow.Options):
        times: int = 1
        free: bool = False

    def roles(self, options: Options) -> list[Worker]:
        output = None if options.free else CHOICE
        return [Worker(name="answer", instructions="Reply to `text`.", loop="reply", output=output, counts=True)]

    def next(self, run: RunView) -> list[IssueStep | Finish]:
        if not run.steps:
            alone = run.options.times == 1
            numbers = range(run.options.times)
            return [IssueStep(id=f"a-{n}", worker="answer", input={"text": run.request}, final=alone) for n in numbers]
        return [] if run.open else [Finish()]

    def outcome(self, run: RunView) -> Outcome:
        done = [each for each in run.of("answer") if each.ok]
        return Outcome(answer="\n".join(each.text for each in done), uses=[each.id for each in done])
