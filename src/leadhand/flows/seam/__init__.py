"""The seam between the engine and a flow: a flow is an async function, and every ``await`` is a step in the log."""
