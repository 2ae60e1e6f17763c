// What events about the run as a whole, and about questions to people, do to the model.

import type { Event } from "./entry.ts";
import { isOpen } from "./lane.ts";
import {
  close,
  endAttempt,
  type Handlers,
  type Model,
  type OpenQuestion,
  setStatus,
  withdraw,
} from "./model.ts";

export const RUN_HANDLERS: Handlers = {
  run_started(model, event) {
    const { definition } = event;
    model.request = definition.request;
    model.flow = definition.flow;
    model.model = definition.models.default;
    model.spend.budget = definition.limits.budget_nanousd ?? null;
    model.status = "running";
  },
  run_claimed(model) {
    model.documentWanted += 1; // it names the owner
  },
  run_paused(model, event, at) {
    model.status = "paused";
    model.reason = event.reason ?? "";
    model.documentWanted += 1;
    // What is under way is stopped, though the log says so only once the run goes on.
    for (const lane of model.lanes) {
      if (lane.status !== "running") continue;
      endAttempt(model, lane.attempts.at(-1), at, "stopped");
      lane.note = "until the run goes on";
      setStatus(model, lane, "pending");
    }
  },
  run_waiting(model, event) {
    model.status = "waiting";
    model.reason = event.reason ?? "";
  },
  run_resumed: goesOn,
  run_reopened(model, event, at) {
    model.finishedAt = null;
    goesOn(model, event, at);
  },
  run_finished(model, event, at) {
    model.status = event.status;
    model.reason = event.failure?.message ?? "";
    model.finishedAt = at;
    model.finishes.push({
      number: event.number ?? model.finishes.length + 1,
      status: event.status,
      seq: event.seq,
      at,
    });
    model.documentWanted += 1;
    for (const lane of model.lanes) {
      if (isOpen(lane.status)) withdraw(model, lane, at, "the run ended before it did");
    }
    for (const question of model.questions.values()) close(model, question, "denied");
  },
};

function goesOn(model: Model, _event: Event, _at: number): void {
  model.status = "running";
  model.reason = "";
  model.documentWanted += 1;
}

export const APPROVAL_HANDLERS: Handlers = {
  approval_requested(model, event) {
    model.questions.set(event.approval.approval_id, {
      approval: event.approval,
      status: "pending",
      seq: event.seq,
    });
    model.pending += 1;
    model.documentWanted += 1;
  },
  approval_expired(model, event) {
    const question = model.questions.get(event.approval_id);
    if (question) close(model, question, "expired");
  },
  approval_answered(model, event, at) {
    const question = model.questions.get(event.approval_id);
    if (!question || question.approval.kind !== "call" || isTooLate(question, at)) return;
    close(model, question, event.approve ? "approved" : "denied");
    if (!event.always || !event.approve) return;
    for (const other of model.questions.values()) {
      if (other.approval.kind === "call" && other.approval.tool === question.approval.tool) {
        close(model, other, "approved");
      }
    }
  },
  effect_answered(model, event) {
    const question = model.questions.get(event.approval_id);
    if (question?.approval.kind === "effect") {
      close(model, question, event.happened ? "approved" : "denied");
    }
  },
};

/** Silence was a no before this was said. */
function isTooLate(question: OpenQuestion, at: number): boolean {
  const expires = question.approval.expires_at;
  return expires != null && at >= Date.parse(expires);
}
