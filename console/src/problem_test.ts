// Problems: whatever the service or a proxy before it answers, there is something to say.

import assert from "node:assert/strict";
import { asProblem, Problem, problemOf } from "./problem.ts";

Deno.test("problem details are said as what and how", async () => {
  const told = {
    title: "Conflict",
    detail: "The run is over.",
    how: "Fork it.",
    code: "run_over",
    errors: [{ where: "body.at", what: "too late" }],
    done: [{ seq: 3, tool: "send_mail" }],
  };
  const problem = await problemOf(new Response(JSON.stringify(told), { status: 409 }));
  assert.equal(problem.what, "The run is over.");
  assert.equal(problem.how, "Fork it.");
  assert.equal(problem.code, "run_over");
  assert.equal(problem.status, 409);
  assert.deepEqual(problem.errors, told.errors);
  assert.deepEqual(problem.document.done, told.done);
});

Deno.test("an answer that is no problem document still says something", async () => {
  for (const body of ["<html>Bad gateway</html>", "[]", "null", "", '{"detail": 7}']) {
    const problem = await problemOf(new Response(body, { status: 502 }));
    assert.equal(problem.status, 502);
    assert.match(problem.what, /502/);
  }
});

Deno.test("too many requests say how long to wait", async () => {
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
