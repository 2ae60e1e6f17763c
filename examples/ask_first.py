"""Ask before a mail is sent: on this terminal, or later from any other with `leadhand approvals list`."""

from leadhand import Leadhand, OpenApproval, Worker, tool


@tool(effect="once", approval="ask")
def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def decide(asked: OpenApproval) -> bool:
    """Show the call, and let the person at the terminal decide."""
    return input(f"{asked.approval.tool}({asked.approval.args})? [y/n] ") == "y"


clerk = Worker("clerk", "Write the mail that is asked for, and send it.", tools=[send_mail])
print(Leadhand(on_approval=decide).run_sync("Tell ann@example.org that the meeting is at 11.", worker=clerk))
