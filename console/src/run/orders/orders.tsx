// The work orders: their subtasks with status, the changes that a repair made, and their reviews.

import { JsonView } from "../../ui/json_view.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { StatusGlyph } from "../../ui/status.tsx";
import type { Subtask } from "../../wire.ts";
import { useFirstItems } from "../../ui/first_items.tsx";
import type { Lane } from "../state/lanes.ts";
import type { KeyedOrder } from "../state/run_view.ts";
import { changeOf } from "./order_change.ts";
import { eventLink, workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { shownStatus, STATUS_WORDS } from "../words.ts";

const PlanGraph = lazy("PlanGraph");

export function Orders({ store }: { store: RunStore }) {
  const orders = store.view.issued.value;
  if (orders.length === 0) return <p class="muted">No work orders yet.</p>;
  return (
    <div class="orders">
      {orders.toReversed().map((order) => (
        <OrderView
          key={order.key}
          order={order}
          store={store}
        />
      ))}
    </div>
  );
}

function OrderView({ order, store }: { order: KeyedOrder; store: RunStore }) {
  const { key, repairs } = order;
  const whole = store.document.value?.work_orders?.find((each) => each.work_order_id === key);
  const lanes = store.view.steps.value.filter((lane) => lane.order === key && lane.counts)
    .sort((one, other) => one.position - other.position);
  const [shown, showAll] = useFirstItems(lanes, "subtasks");
  return (
    <section class="order" aria-labelledby={`order-${key}`}>
      <h3 id={`order-${key}`}>
        {key} <a class="small" href={eventLink(order.seq)}>event {order.seq}</a>
      </h3>
      <p>{whole?.goal ?? order.goal}</p>
      {repairs && <p class="muted small">Repairs {repairs}</p>}
      {lanes.some((lane) => lane.needs.length > 0) && <PlanGraph lanes={lanes} />}
      <ol class="order-subtasks" start={0}>
        {shown.map((lane) => (
          <SubtaskLine
            key={lane.key}
            lane={lane}
            subtask={whole?.subtasks[lane.position]}
            repaired={lane.repairs ? store.view.step(lane.repairs) : undefined}
          />
        ))}
      </ol>
      {showAll}
      <ReviewView order={order} />
      {whole && (
        <details>
          <summary class="small">Work order as JSON</summary>
          <JsonView value={whole} label={`order ${key}`} />
        </details>
      )}
    </section>
  );
}

interface SubtaskLineProps {
  readonly lane: Lane;
  /** The subtask as the document has it, once it is loaded. */
  readonly subtask: Subtask | undefined;
  /** The subtask that it repeats. */
  readonly repaired: Lane | undefined;
}

/** A sentence as it is; of a JSON schema, the fields of the object that it describes. */
function expected(output: NonNullable<Subtask["expected_output"]>): string {
  if (typeof output === "string") return output;
  return `JSON: ${Object.keys(Object(output["properties"])).join(", ")}`;
}

function SubtaskLine({ lane, subtask, repaired }: SubtaskLineProps) {
  return (
    <li>
      <p>
        <StatusGlyph status={shownStatus(lane)} /> <a href={workerLink(lane.key)}>{lane.label}</a>
        {" "}
        <span class="muted small">
          {STATUS_WORDS[shownStatus(lane)]}
          {lane.tool && ` · ${lane.tool}`}
          {lane.needs.length > 0 && ` · needs ${lane.needs.join(", ")}`}
          {subtask?.expected_output && ` · expects ${expected(subtask.expected_output)}`}
        </span>
      </p>
      {repaired && (
        <ul class="changes small">
          {changeOf(repaired, lane).map((line) => <li key={line}>{line}</li>)}
        </ul>
      )}
      {lane.verdict && (
        <p class="small muted">
          Review: {lane.verdict.verdict}
          {lane.verdict.reason && `, ${lane.verdict.reason}`}
        </p>
      )}
    </li>
  );
}

function ReviewView({ order: { review } }: { order: KeyedOrder }) {
  if (!review) return <p class="small muted">Not reviewed.</p>;
  return (
    <div class="small">
      <p>
        Review: {review.complete ? "complete" : "incomplete"}.{" "}
        <a href={eventLink(review.seq)}>Event {review.seq}</a>
      </p>
      {review.missing.length > 0 && <p>Missing: {review.missing.join(", ")}</p>}
    </div>
  );
}
