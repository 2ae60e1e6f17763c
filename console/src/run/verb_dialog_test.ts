import { Problem } from "../problem.ts";
import { seqOf } from "./chosen.ts";
import { payloadsIn } from "./event_view.tsx";
import { callOf, isUnconfirmed } from "./verb_dialog.tsx";

Deno.test("what cannot be taken back is told by its call and where it was made", () => {
  const told = [
    callOf({ seq: 108, tool: "pay_tool", args: { amount: 30, to: "Bob" } }),
    callOf({ subtask: "wo-001.9", tool: "pay_tool" }),
  ].join("; ");
  if (told !== "pay_tool · 30, Bob (event 108); pay_tool (wo-001.9)") throw new Error(told);
});

Deno.test("only a refusal for want of a confirmation asks again", () => {
  const refused = (status: number, code: string, document = {}) =>
    isUnconfirmed(new Problem({ status, code, title: "no", document }));
  if (!refused(409, "unconfirmed")) throw new Error("409 unconfirmed");
  if (!refused(409, "usage", { done: [{ seq: 3, tool: "pay" }] })) throw new Error("409 with done");
  if (refused(409, "usage") || refused(422, "unconfirmed")) throw new Error("something else");
});

Deno.test("payloads by digest are found wherever they stand, each once", () => {
  const blob = (digest: string) => ({ $blob: digest, bytes: 5_000 });
  const found = payloadsIn({
    raw: blob("aa"),
    data: { sources: [], raw: [blob("bb"), blob("aa")] },
  });
  const told = found.map((each) => `${each.digest} ${each.size}`).join();
  if (told !== "aa 5000,bb 5000") throw new Error(told);
  if (payloadsIn(null).length + payloadsIn("text").length) throw new Error("in nothing");
});

Deno.test("evidence is cited by the seq of its event", () => {
  if (seqOf("e-19") !== 19 || seqOf("e-") !== null || seqOf("19") !== null) throw new Error();
});
