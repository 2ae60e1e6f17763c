// What events about attempts and their calls do to the model: bars on the timeline and marks within them.

import { type Assignment, assignmentOf, isInterruption, numberOf, type OpenCall } from "./entry.ts";
import { type Attempt, type Call, labelOf, type Lane, newAttempt, newLane } from "./lane.ts";
import {
  addLane,
  busy,
  change,
  endAttempt,
  type Handlers,
  type Model,
  setStatus,
} from "./model.ts";
import { reserve, settleAttempt, settleCall } from "./spending.ts";

const THOUGHTS: Record<string, string> = {
  plan: "Plan",
  review: "Review",
  compose: "Write the answer",
};

export const ATTEMPT_HANDLERS: Handlers = {
  assignment_issued(model, event, at) {
    const { assignment } = event;
    const key = assignment.assignment_id;
    const lane = model.byKey.get(key) ?? thought(model, assignment, event.seq);
    lane.attempts.push(newAttempt(`${key}/a1`, 1, at));
    lane.note = "";
  },

  attempt_scheduled(model, event, at) {
    const lane = laneOf(model, event.attempt);
    if (!lane) return;
    const before = lane.attempts.at(-1);
    endAttempt(model, before?.end === null ? before : undefined, at, "stopped");
    const attempt = newAttempt(event.attempt, numberOf(event.attempt), at);
    attempt.notBefore = event.not_before ? Date.parse(event.not_before) : null;
    attempt.continues = event.continues ?? null;
    attempt.feedback = event.feedback ?? "";
    lane.attempts.push(attempt);
    lane.note = "";
    // What only waited for somebody goes on; what failed is tried again.
    const failed = before?.outcome === "failed" || before?.outcome === "lost";
    setStatus(model, lane, failed ? "retrying" : "pending");
  },

  attempt_started(model, event, at) {
    const found = attemptOf(model, event.attempt);
    if (!found || found.attempt.end !== null) return;
    const { lane, attempt } = found;
    if (attempt.start === null) busy(model, 1, at);
    attempt.start = at;
    attempt.host = event.host;
    attempt.outcome = "running";
    lane.note = "";
    setStatus(model, lane, "running");
  },

  attempt_returned(model, event, at) {
    settleAttempt(model.spend, event.attempt);
    const found = attemptOf(model, event.attempt);
    if (!found || isLate(found.attempt)) return; // it is counted, and changes nothing
    found.attempt.resultSeq = event.seq;
    found.attempt.failure = event.result.error ?? null;
    endAttempt(model, found.attempt, at, event.result.ok ? "ok" : "failed");
  },

  attempt_lost(model, event, at) {
    settleAttempt(model.spend, event.attempt);
    const found = attemptOf(model, event.attempt);
    if (!found || isLate(found.attempt)) return;
    const interrupted = isInterruption(event.failure);
    found.attempt.failure = interrupted ? null : event.failure;
    endAttempt(model, found.attempt, at, interrupted ? "stopped" : "lost");
  },

  attempt_settled(model, event, at) {
    const found = attemptOf(model, event.attempt);
    if (!found) return;
    const { lane, attempt } = found;
    if (attempt !== lane.attempts.at(-1)) return;
    const failure = isInterruption(event.failure) ? null : event.failure ?? null;
    // Lost and stopped stay what they are; a result that was judged unsound did fail.
    const kept = attempt.outcome === "lost" || (attempt.outcome === "stopped" && failure === null);
    endAttempt(model, attempt, at, event.ok ? "ok" : kept ? attempt.outcome : "failed");
    if (failure !== null) attempt.failure = failure;
    lane.settledSeq = event.seq;
    lane.note = "";
    change(model, lane, () => lane.failure = failure);
    const next = failure === null ? "pending" : "retrying";
    setStatus(model, lane, !event.final ? next : event.ok ? "completed" : "failed");
  },

  attempt_parked: parks,
  attempt_held: parks,

  model_call_began(model, event, at) {
    reserve(model.spend, event.attempt, event.call_id, event.reserved);
    began(model, event, at, { kind: "model", name: event.model, args: null, effect: "" });
  },

  model_call_returned(model, event, at) {
    settleCall(model.spend, event.attempt, event.call_id, event.usage);
    const call = callOf(model, event.attempt, event.call_id);
    if (!call) return;
    call.tokens = event.usage ? event.usage.input_tokens + event.usage.output_tokens : 0;
    call.failure = event.failure ?? null;
    returned(call, event.seq, at, !event.failure);
  },

  tool_call_began(model, event, at) {
    const effect = event.effect ?? "pure";
    began(model, event, at, { kind: "tool", name: event.tool, args: event.args, effect });
  },

  tool_call_returned(model, event, at) {
    const call = callOf(model, event.attempt, event.call_id);
    if (!call) return;
    call.summary = event.summary ?? "";
    call.failure = event.failure ?? null;
    returned(call, event.seq, at, event.ok);
  },
};

/** Whether an attempt is over, so that whatever it still brings is late. One that a pause stopped may yet return. */
function isLate(attempt: Attempt): boolean {
  return attempt.end !== null && attempt.outcome !== "stopped";
}

/** The lane of a piece of the lead's own thinking, or of what a worker has another worker do. */
function thought(model: Model, assignment: Assignment, seq: number): Lane {
  const key = assignment.assignment_id;
  const child = assignment.options?.child as
    | { name: string; args?: Record<string, unknown> }
    | undefined;
  const parent = assignment.parent ? model.byKey.get(assignmentOf(assignment.parent)) : undefined;
  const name = child?.name ?? THOUGHTS[assignment.role] ?? assignment.role;
  const of = parent ? ` (for ${parent.name})` : "";
  const order = assignment.options?.work_order_id;
  const lane = newLane({
    key,
    name,
    label: (child ? labelOf(name, child.args) : thoughtLabel(name, assignment)) + of,
    role: assignment.role,
    order: typeof order === "string"
      ? order
      : parent?.order ?? model.orders.at(-1)?.order.work_order_id ?? "",
    args: child?.args ?? {},
    parent: parent?.key ?? null,
    firstSeq: seq,
  });
  parent?.children.push(lane);
  addLane(model, lane);
  return lane;
}

/** `Review wo-001`, and which part where one thought was divided into many. */
function thoughtLabel(name: string, assignment: Assignment): string {
  const { assignment_id: id, role } = assignment;
  const order = assignment.options?.work_order_id;
  const of = typeof order === "string" ? ` ${order}` : "";
  const part = id.startsWith(`review${of.replace(" ", "-")}-`)
    ? id.slice(`review${of.replace(" ", "-")}-`.length)
    : id.slice(role.length);
  const alone = role === "review" ? part === "0" || part === "whole" : /^\d*$/.test(part);
  return alone ? `${name}${of}` : `${name}${of} · part ${part.replace(/^-/, "")}`;
}

function parks(
  model: Model,
  event: { attempt: string; open_calls: OpenCall[] },
  at: number,
): void {
  settleAttempt(model.spend, event.attempt);
  const found = attemptOf(model, event.attempt);
  if (!found || found.attempt !== found.lane.attempts.at(-1)) return;
  found.attempt.openCalls = event.open_calls;
  endAttempt(model, found.attempt, at, "parked");
  found.lane.note = waitedFor(event.open_calls);
  setStatus(model, found.lane, "waiting");
}

const WAITS: Record<string, string> = {
  approval: "for a person's yes",
  effect: "for a person's word",
  child: "for another worker",
  allowance: "for leave to go on",
};

function waitedFor(calls: OpenCall[]): string {
  return [...new Set(calls.map((call) => WAITS[call.kind] ?? `for ${call.kind}`))].join(" and ");
}

function began(
  model: Model,
  event: { seq: number; attempt: string; call_id: string },
  at: number,
  told: Pick<Call, "kind" | "name" | "args" | "effect">,
): void {
  const found = attemptOf(model, event.attempt);
  if (!found) return;
  found.attempt.calls.push({
    ...told,
    id: event.call_id,
    began: at,
    ended: null,
    ok: null,
    failure: null,
    summary: "",
    tokens: 0,
    seq: event.seq,
    returnedSeq: null,
  });
}

function returned(call: Call, seq: number, at: number, ok: boolean): void {
  call.ended = at;
  call.ok = ok;
  call.returnedSeq = seq;
}

function callOf(model: Model, attempt: string, callId: string): Call | undefined {
  const found = attemptOf(model, attempt);
  return found?.attempt.calls.findLast((each) => each.id === callId && each.ended === null);
}

function laneOf(model: Model, attempt: string): Lane | undefined {
  return model.byKey.get(assignmentOf(attempt));
}

/** An attempt is nearly always its lane's last: look from the end. */
function attemptOf(model: Model, id: string): { lane: Lane; attempt: Attempt } | undefined {
  const lane = laneOf(model, id);
  const attempt = lane?.attempts.findLast((each) => each.id === id);
  return lane && attempt ? { lane, attempt } : undefined;
}
