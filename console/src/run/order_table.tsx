// The work orders side by side: a row for each subtask, a column for each order.

import { count } from "../formats.ts";
import { StatusGlyph } from "../ui/status.tsx";
import { useFirstItems } from "./first_items.tsx";
import type { Model } from "./model.ts";
import { type Cell, isKept, type OrderRow, rowsOf } from "./order_rows.ts";
import { workerLink } from "./selection.ts";
import { shownStatus, STATUS_WORDS } from "./words.ts";

export function OrderTable({ model }: { model: Model }) {
  const { orders, lanes } = model;
  const rows = rowsOf(orders, lanes);
  const changed = rows.filter((row) => !isKept(row));
  const kept = rows.length - changed.length;
  const [shown, showAll] = useFirstItems(changed, "subtasks");
  return (
    <section class="order-table" aria-label="Work orders side by side">
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Subtasks by work order">
        <table>
          <thead>
            <tr>
              <th scope="col">Subtask</th>
              {orders.map(({ key }) => <th key={key} scope="col">{key}</th>)}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => <Row key={row.first.key} row={row} />)}
          </tbody>
        </table>
      </div>
      {showAll}
      {kept > 0 && <p class="muted">{count(kept, "other subtask")} completed and kept.</p>}
    </section>
  );
}

function Row({ row: { first, cells } }: { row: OrderRow }) {
  return (
    <tr>
      <th scope="row" dir="auto">{first.label}</th>
      {cells.map((cell, at) => <td key={at}>{cell && <CellView cell={cell} />}</td>)}
    </tr>
  );
}

function CellView({ cell: { change, lane, lines } }: { cell: Cell }) {
  if (lane === null) return <span class="muted">{change}</span>;
  const status = shownStatus(lane);
  return (
    <>
      {change !== "Planned" && `${change}: `}
      <StatusGlyph status={status} /> <a href={workerLink(lane.key)}>{STATUS_WORDS[status]}</a>
      {lines.map((line) => <p key={line} class="small muted" dir="auto">{line}</p>)}
      {lane.failure && <p class="small muted" dir="auto">{lane.failure.message}</p>}
    </>
  );
}
