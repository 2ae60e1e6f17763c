"""A question to a person: ask for what the request leaves open, then answer.

Run it: leadhand run --offline --flows examples/flows/ask_first.py --flow reply "The parcel is late."
"""

from leadhand import Leadhand, Worker
from leadhand.flows import FlowContext, flow

clerk = Worker("clerk", "Write a reply to the customer's `message` in the given `tone`.", loop="reply")


def reply_politely(facts, request):
    return f"In a {facts['tone']} tone: we are sorry. ({facts['message']})"


@flow(offline={clerk: reply_politely})
async def reply(run: FlowContext):
    """Reply to a message in the tone that a person chooses."""
    tone = await run.person("In which tone shall I reply?", choices=["friendly", "formal"])
    return await run.ask(clerk, message=run.request, tone=tone, final=True)


if __name__ == "__main__":
    print(Leadhand(model="offline", flows=[reply]).run_sync("The parcel is late.", flow="reply").question)
