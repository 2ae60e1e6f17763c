"""The commands: the words that call each, its module in ``leadhand.cli.commands``, and its summary.

Nothing here imports a command.
"""

GROUPS = {
    "runs": "List, watch and steer runs.",
    "approvals": "List and answer approval requests.",
    "tools": "List tools, and call one by hand.",
    "workers": "List the workers of a project, and promote generated ones.",
    "hosts": "List the processes that are driving runs.",
    "keys": "Create, list and revoke API keys.",
}
COMMANDS = {
    "run": ("run", "Run a request and print the answer."),
    "report": ("report", "Write a report on a topic."),
    "research": ("report", "Answer a question by research."),
    "answer": ("answer", "Answer the question that a run waits for, and continue the run."),
    "signal": ("answer", "Send a signal to a run, whose flow waits for it."),
    "work": ("work", "Carry out the work of runs on this machine."),
    "serve": ("serve", "Serve the HTTP API and the console."),
    "mcp": ("mcp", "Offer Leadhand to MCP clients, such as Claude Desktop or Cursor."),
    "runs list": ("runs", "List runs, newest first."),
    "runs show": ("runs_show", "Show a run: what is missing, status, steps, artifacts and answer."),
    "runs open": ("runs_show", "Open a run in the console of a running server."),
    "runs watch": ("runs", "Follow a run until it ends."),
    "runs resume": ("runs_control", "Resume a run that was paused or whose process died."),
    "runs pause": ("runs_control", "Pause a run. Finished subtasks are kept."),
    "runs cancel": ("runs_control", "Cancel a run for good."),
    "runs retry": ("runs_control", "Retry subtasks and everything that depends on them."),
    "runs skip": ("runs_control", "Skip a subtask."),
    "runs supply": ("runs_control", "Enter the result of a subtask by hand."),
    "runs fork": ("runs_control", "Start a new run from an event of an earlier one."),
    "runs export": ("runs", "Export a run as JSON lines, a JSON document, Markdown or one HTML page."),
    "runs delete": ("upkeep", "Delete a run: its events, artifacts and files."),
    "runs prune": ("upkeep", "Delete finished runs that are old or too many."),
    "approvals list": ("approvals", "List the pending approvals of all runs, newest first."),
    "approvals approve": ("approvals", "Approve a call."),
    "approvals deny": ("approvals", "Deny a call. The lead sees your reason."),
    "approvals settle": ("approvals", "Say whether an interrupted irreversible call went through."),
    "tools list": ("tools", "List the tools a run can use."),
    "tools show": ("tools", "Show one tool: description and arguments."),
    "tools call": ("tools", "Call a tool by hand, as a worker would."),
    "workers list": ("workers", "List the workers of the project: declared ones, then generated ones."),
    "workers promote": ("workers", "Promote a generated worker, so that later runs know it."),
    "hosts list": ("work", "List the processes that are driving runs."),
    "keys create": ("keys", "Create an API key and show it once."),
    "keys list": ("keys", "List API keys, newest first, without the secrets."),
    "keys revoke": ("keys", "Revoke an API key."),
    "backup": ("upkeep", "Copy the database and its artifacts to a file."),
    "completion": ("setup", "Print the completion script of a shell."),
    "init": ("setup", "Write the files of a new project."),
    "doctor": ("setup", "Check this installation and suggest fixes."),
}
_USUAL = (
    "tools documents approve detach continue_ output_schema plan_only flow worker solo inputs option model offline"
    " check budget timeout limit json tag project home database max_revisions no_review stage agent max_turns subtask"
    " args yes at flows hooks max_workers host port open require_key cors concurrency grace scope http"
)
USUAL = frozenset(_USUAL.split())
"""The flags that the help of a command with many flags shows; ``--help-all`` shows the others."""
