// The orders: each as it was issued and stays, with what its subtasks came to, what a repair changed, and its review.

import { useState } from "preact/hooks";
import { Button } from "../ui/button.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { eventLink, workerLink } from "./chosen.ts";
import type { Subtask, Verdict } from "./entry.ts";
import { STATUS_WORDS } from "./lane.ts";
import { laneMark } from "./marks.ts";
import type { Model, Order } from "./model.ts";
import { changeOf } from "./order_change.ts";
import type { RunStore } from "./store.ts";

/** Subtasks that an order shows before it is asked for more. */
const SHOWN = 50;

export function Orders({ store }: { store: RunStore }) {
  const model = store.live;
  if (model.orders.length === 0) return <p class="muted">No work order has been issued yet.</p>;
  return (
    <div class="orders">
      {model.orders.toReversed().map((order) => (
        <OrderView key={order.order.work_order_id} order={order} store={store} />
      ))}
      {model.cannot.length > 0 && (
        <section>
          <h3>Out of reach of every tool</h3>
          <ul>
            {model.cannot.map((part) => (
              <li key={part.what}>
                <strong>{part.what}</strong>: {part.reason}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function OrderView({ order, store }: { order: Order; store: RunStore }) {
  const model = store.live;
  const [most, setMost] = useState(SHOWN);
  const { work_order_id, goal, repairs } = order.order;
  // An event's long texts may be cut; the document's are whole.
  const whole = store.document.value?.work_orders.find((each) =>
    each.work_order_id === work_order_id
  );
  const subtasks = (whole?.subtasks ?? order.order.subtasks) as Subtask[];
  return (
    <section class="order" aria-labelledby={`order-${work_order_id}`}>
      <h3 id={`order-${work_order_id}`}>
        {work_order_id} <a class="small" href={eventLink(order.seq)}>event {order.seq}</a>
      </h3>
      <p>{whole?.goal ?? goal}</p>
      {repairs && (
        <p class="muted small">
          It repairs {repairs}
          {order.by && `, as ${order.by} asked`}: only what fell short is done again.
        </p>
      )}
      <ol class="order-subtasks" start={0}>
        {subtasks.slice(0, most).map((subtask, index) => (
          <SubtaskLine
            key={index}
            lane={`${work_order_id}.${index}`}
            subtask={subtask}
            model={model}
            verdict={order.review?.verdicts.find((each) =>
              each.subtask === `${work_order_id}.${index}`
            )}
          />
        ))}
      </ol>
      {subtasks.length > most && (
        <Button small onClick={() => setMost(subtasks.length)}>
          {`Show all ${subtasks.length.toLocaleString("en")} subtasks`}
        </Button>
      )}
      <ReviewView order={order} />
      <details>
        <summary class="small">The order as JSON</summary>
        <JsonView value={whole ?? order.order} label={`order ${work_order_id}`} />
      </details>
    </section>
  );
}

interface SubtaskLineProps {
  readonly lane: string;
  readonly subtask: Subtask;
  readonly model: Model;
  readonly verdict: Verdict | undefined;
}

function SubtaskLine({ lane: key, subtask, model, verdict }: SubtaskLineProps) {
  const lane = model.byKey.get(key);
  const { glyph, tone } = laneMark(lane?.status ?? "pending");
  const repaired = subtask.repairs_subtask ? model.byKey.get(subtask.repairs_subtask) : undefined;
  return (
    <li>
      <p>
        <span class={`glyph tone-${tone}`} aria-hidden="true">{glyph}</span>{" "}
        <a href={workerLink(key)}>{lane?.label ?? subtask.name}</a>{" "}
        <span class="muted small">
          {STATUS_WORDS[lane?.status ?? "pending"]}
          {subtask.tool && ` · ${subtask.tool}`}
          {subtask.needs?.length ? ` · needs ${subtask.needs.join(", ")}` : ""}
          {subtask.expected_output && ` · wants ${subtask.expected_output}`}
        </span>
      </p>
      {repaired && (
        <ul class="changes small">
          {changeOf(repaired, subtask).map((line) => <li key={line}>{line}</li>)}
        </ul>
      )}
      {verdict && (
        <p class="small muted">
          Review: {verdict.verdict}
          {verdict.reason && `, ${verdict.reason}`}
        </p>
      )}
    </li>
  );
}

function ReviewView({ order }: { order: Order }) {
  const { review } = order;
  if (!review) return <p class="small muted">Not reviewed yet.</p>;
  return (
    <div class="small">
      <p>
        The review calls it {review.complete ? "complete" : "not complete"}.{" "}
        {order.reviewSeq !== null && (
          <a href={eventLink(order.reviewSeq)}>Event {order.reviewSeq}</a>
        )}
      </p>
      {review.missing && review.missing.length > 0 && (
        <p>Missing: {review.missing.map((each) => each.name).join(", ")}</p>
      )}
      {review.cannot && review.cannot.length > 0 && (
        <p>
          Out of reach: {review.cannot.map((each) => `${each.what} (${each.reason})`).join("; ")}
        </p>
      )}
    </div>
  );
}
