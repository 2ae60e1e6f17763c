import assert from "node:assert/strict";
import { Problem } from "../../problem.ts";
import { describeCall, isUnconfirmed } from "./action_dialog.tsx";
import { payloadsIn } from "../log/event_view.tsx";
import { seqOf } from "../selection.ts";

Deno.test("an irreversible call is shown with its arguments and its event or subtask", () => {
  const paid = { seq: 108, tool: "pay_tool", args: { amount: 30, to: "Bob" } };
  assert.equal(describeCall(paid), "pay_tool · 30, Bob (event 108)");
  assert.equal(describeCall({ subtask: "wo-001.9", tool: "pay_tool" }), "pay_tool (wo-001.9)");
});

Deno.test("only a refusal for lack of confirmation asks again", () => {
  const isRefusal = (status: number, code: string, document = {}) =>
    isUnconfirmed(new Problem({ status, code, title: "no", document }));
  assert.ok(isRefusal(409, "unconfirmed"));
  assert.ok(isRefusal(409, "usage", { done: [{ seq: 3, tool: "pay" }] }));
  assert.ok(!isRefusal(409, "usage"));
  assert.ok(!isRefusal(422, "unconfirmed"));
});

Deno.test("payload references are found at any depth, each once", () => {
  const blob = (digest: string) => ({ $blob: digest, bytes: 5_000 });
  const found = payloadsIn({
    raw: blob("aa"),
    data: { sources: [], raw: [blob("bb"), blob("aa")] },
  });
  assert.deepEqual(found, [{ digest: "aa", size: 5_000 }, { digest: "bb", size: 5_000 }]);
  assert.deepEqual([...payloadsIn(null), ...payloadsIn("text")], []);
});

Deno.test("evidence is cited by the seq of its event", () => {
  assert.equal(seqOf("e-19"), 19);
  assert.equal(seqOf("e-"), null);
  assert.equal(seqOf("19"), null);
});
