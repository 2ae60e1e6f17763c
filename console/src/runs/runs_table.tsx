// The runs as a table; on narrow screens the last columns move below the request.

import { duration, flowName, money, shortened } from "../formats.ts";
import { isOver } from "../run/state/view.ts";
import { StatusMark } from "../ui/status.tsx";
import { Age } from "../ui/time.tsx";
import type { RunLine } from "../wire.ts";
import { Tags } from "./tags.tsx";

/** The service sends the first 200 characters of a request; a longer request ends with an ellipsis. */
const SHOWN = 199;

interface RunsTableProps {
  readonly lines: readonly RunLine[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (runId: string, chosen: boolean) => void;
}

export function RunsTable({ lines, chosen, onChoose }: RunsTableProps) {
  return (
    <table class="runs-table">
      <thead>
        <tr>
          <th scope="col" class="choose">
            <span class="unseen">Select</span>
          </th>
          <th scope="col">Status</th>
          <th scope="col">Request</th>
          <th scope="col" class="full-only">Model</th>
          <th scope="col" class="wide-only">Progress</th>
          <th scope="col" class="wide-only number">Failed</th>
          <th scope="col" class="wide-only number">Cost</th>
          <th scope="col" class="full-only number">Took</th>
          <th scope="col" class="number">Started</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <Row
            key={line.run_id}
            line={line}
            chosen={chosen.has(line.run_id)}
            onChoose={(on) => onChoose(line.run_id, on)}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly line: RunLine;
  readonly chosen: boolean;
  readonly onChoose: (chosen: boolean) => void;
}

function Row({ line, chosen, onChoose }: RowProps) {
  const flow = line.flow === "work-order" ? "" : flowName(line.flow);
  return (
    <tr>
      <td class="choose">
        <label>
          <input
            type="checkbox"
            aria-label={`Select ${shortened(line.name || line.request, 60)}`}
            checked={chosen}
            onChange={(event) => onChoose(event.currentTarget.checked)}
          />
        </label>
      </td>
      <td>
        <StatusMark status={line.status} />
      </td>
      <td class="run-request">
        <a class="run-link" dir="auto" href={`/runs/${line.run_id}`}>
          {line.name || shortened(line.request, SHOWN)}
        </a>
        <Tags tags={line.tags} />
        {flow && <span class="badge wide-only">{flow}</span>}
        {line.asking > 0 && (
          <span class="badge asks">
            <span aria-hidden="true">‖</span> waits for you
            {line.asking > 1 && ` (${line.asking})`}
          </span>
        )}
        {line.orphan && (
          <span class="badge" title="Its process is gone. Resume the run to continue.">
            <span aria-hidden="true">◌</span> no process
          </span>
        )}
        <p class="small muted narrow-only">
          {[flow, line.model, ...shortFacts(line)].filter(Boolean).join(" · ")}
        </p>
      </td>
      <td class="full-only small muted run-model">{line.model}</td>
      <td class="wide-only">
        <Progress line={line} />
      </td>
      <td class="wide-only number">
        {line.failed > 0 && <Failed line={line} />}
      </td>
      <td class="wide-only number">
        {line.requests > 0 && line.cost_usd === null
          ? <span class="muted">Unknown</span>
          : line.requests > 0 && money(line.cost_usd)}
      </td>
      <td class="full-only number muted">
        <Took line={line} />
      </td>
      <td class="number muted">
        <Age at={line.created_at} word="ago" />
      </td>
    </tr>
  );
}

/** In a cancelled run, what did not finish has not failed. */
function isCancelled({ status }: RunLine): boolean {
  return status === "cancelled";
}

function Failed({ line }: { line: RunLine }) {
  const number = line.failed.toLocaleString("en");
  if (isCancelled(line)) return <span class="muted" title="not finished">× {number}</span>;
  return <span class="tone-bad">▲ {number}</span>;
}

/** How long a run took; of one that is not over, how long ago it was started says that. */
function Took({ line: { created_at, finished_at } }: { line: RunLine }) {
  if (finished_at === null) return null;
  return <>{duration((Date.parse(finished_at) - Date.parse(created_at)) / 1000)}</>;
}

function shortFacts(line: RunLine): readonly string[] {
  return [
    line.subtasks > 0 ? `${line.completed}/${line.subtasks} completed` : "",
    line.failed > 0 ? `${line.failed} ${isCancelled(line) ? "not finished" : "failed"}` : "",
    line.requests > 0 ? money(line.cost_usd) : "",
  ].filter(Boolean);
}

function Progress({ line }: { line: RunLine }) {
  if (line.subtasks === 0) {
    if (line.flow !== "work-order" && line.completed === 0) return null;
    const none = isOver(line.status) ? "No subtasks" : "No subtasks yet";
    return <span class="muted">{line.completed > 0 ? `${line.completed}/?` : none}</span>;
  }
  const part = (number: number) => `${100 * number / line.subtasks}%`;
  return (
    <span class="progress">
      <span class="progress-bar" aria-hidden="true">
        <span class="done" style={{ width: part(line.completed) }} />
        {!isCancelled(line) && <span class="lost" style={{ width: part(line.failed) }} />}
      </span>
      <span class="progress-words">
        {line.completed.toLocaleString("en")}/{line.subtasks.toLocaleString("en")}
      </span>
    </span>
  );
}
