// Test that any failure, of the service or of a proxy before it, becomes a problem with a message.

import assert from "node:assert/strict";
import { asProblem, Problem, problemOf } from "./problem.ts";

Deno.test("problem details become a message, a next step, and errors of fields", async () => {
  const document = {
    title: "Conflict",
    detail: "The run is over.",
    how: "Fork it.",
    code: "run_over",
    errors: [{ where: "body.at", what: "too late" }],
    done: [{ seq: 3, tool: "send_mail" }],
  };
  const problem = await problemOf(new Response(JSON.stringify(document), { status: 409 }));
  assert.equal(problem.what, "The run is over.");
  assert.equal(problem.how, "Fork it.");
  assert.equal(problem.code, "run_over");
  assert.equal(problem.status, 409);
  assert.deepEqual(problem.errors, document.errors);
  assert.equal(problem.errorAt("at"), "too late");
  assert.equal(problem.errorAt("request"), null);
  assert.deepEqual(problem.document.done, document.done);
});

Deno.test("a response that is not a problem document still has a message", async () => {
  for (const body of ["<html>Bad gateway</html>", "[]", "null", "", '{"detail": 7}']) {
    const problem = await problemOf(new Response(body, { status: 502 }));
    assert.equal(problem.status, 502);
    assert.match(problem.what, /502/);
  }
});

Deno.test("too many requests: the next step says how long to wait", async () => {
  const problem = await problemOf(
    new Response("{}", { status: 429, headers: { "Retry-After": "7" } }),
  );
  assert.equal(problem.how, "Try again in 7 s.");
});

Deno.test("anything thrown becomes a problem, and a problem stays itself", () => {
  const problem = new Problem({ status: 404, code: "no_such_run", title: "No such run" });
  assert.equal(asProblem(problem), problem);
  assert.equal(asProblem(new TypeError("x is not a function")).what, "x is not a function");
  assert.equal(asProblem("text").what, "text");
});
