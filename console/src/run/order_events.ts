// What events about work orders do to the model: lanes for the subtasks, verdicts, words of people.

import type { Failure } from "./entry.ts";
import { labelOf, newLane, shortLabels } from "./lane.ts";
import { addLane, change, type Handlers, setStatus, withdraw } from "./model.ts";

export const ORDER_HANDLERS: Handlers = {
  work_order_issued(model, event) {
    const { order } = event;
    const id = order.work_order_id;
    const issued = { order, by: event.by ?? "", seq: event.seq, review: null, reviewSeq: null };
    model.orders.push(issued);
    model.byOrder.set(id, issued);
    model.documentWanted += 1;
    const shorts = shortLabels(order.subtasks);
    order.subtasks.forEach((subtask, index) => {
      const key = `${id}.${index}`;
      const repairs = subtask.repairs_subtask ?? null;
      addLane(
        model,
        newLane({
          key,
          name: subtask.name,
          label: labelOf(subtask.name, subtask.args),
          short: shorts[index],
          role: "work",
          order: id,
          subtask: true,
          tool: subtask.tool,
          args: subtask.args,
          needs: subtask.needs ?? [],
          repairs,
          firstSeq: event.seq,
        }),
      );
      const repaired = repairs === null ? undefined : model.byKey.get(repairs);
      if (repaired) change(model, repaired, () => repaired.supersededBy = key);
    });
  },

  parts_refused(model, event) {
    for (const part of event.parts) {
      const known = model.cannot.some((other) =>
        other.what === part.what && other.reason === part.reason
      );
      if (!known) model.cannot.push(part);
    }
  },

  subtask_blocked(model, event) {
    const lane = model.byKey.get(event.subtask);
    if (!lane) return;
    const failure: Failure = {
      message: `it needs ${event.cause}, which did not succeed`,
      type: "needs_failed",
      class: "blocked",
    };
    lane.settledSeq = event.seq;
    change(model, lane, () => lane.failure = failure);
    setStatus(model, lane, "failed");
  },

  order_reviewed(model, event) {
    const order = model.byOrder.get(event.work_order_id);
    if (order) {
      order.review = event.review;
      order.reviewSeq = event.seq;
    }
    model.documentWanted += 1;
    for (const verdict of event.review.verdicts) {
      const lane = model.byKey.get(verdict.subtask);
      if (!lane || lane.by) continue; // a person's word stands
      const wanting = verdict.verdict !== "accept" && lane.status === "completed";
      const status = verdict.verdict === "drop" ? "dropped" : wanting ? "failed" : lane.status;
      lane.verdict = verdict;
      if (status !== lane.status && lane.failure === null) {
        const message = verdict.reason || "the review found it wanting";
        change(model, lane, () => {
          lane.failure = { message, type: "found_wanting", class: "insufficient" };
        });
      }
      setStatus(model, lane, status);
    }
  },

  subtask_resolved(model, event, at) {
    const lane = model.byKey.get(event.subtask);
    if (!lane) return;
    const reason = event.reason ? `: ${event.reason}` : "";
    withdraw(model, lane, at, `settled by ${event.by}`);
    lane.by = event.by;
    lane.settledSeq = event.seq;
    change(model, lane, () => {
      lane.failure = event.data
        ? null
        : { message: `${event.by} left it undone${reason}`, type: "skipped", class: "rejected" };
    });
    lane.verdict = {
      subtask: lane.key,
      verdict: event.data ? "accept" : "drop",
      reason: event.data ? `supplied by ${event.by}` : lane.failure?.message,
    };
    setStatus(model, lane, event.data ? "completed" : "dropped");
  },
};
