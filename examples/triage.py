"""Sort some mails: one tool, a typed result for each mail, and a summary."""

from pydantic import BaseModel

from leadhand import Leadhand, Worker


class Ticket(BaseModel):
    team: str
    urgent: bool


def customer(email: str) -> str:
    """Look up the customer who has this address."""
    return "gold customer" if email.endswith("@example.org") else "not a customer"


triage = Worker("triage", "Sort the mail: look up who wrote it.", tools=[customer], output=Ticket)
results = Leadhand(tools=[]).map_sync(triage, ["ann@example.org: my invoice is wrong", "bob@example.com: hello"])
print(*(each.value for each in results if each.ok), f"{sum(each.ok for each in results)} of {len(results)}", sep="\n")
