// The runs as a table; on narrow screens the last columns move below the request.

import { flowName, money, shortened } from "../formats.ts";
import { isOver } from "../run/view.ts";
import { StatusMark } from "../ui/status.tsx";
import { Age } from "../ui/time.tsx";
import type { RunLine } from "../wire.ts";

/** The service sends the first 200 characters of a request; a longer request ends with an ellipsis. */
const SHOWN = 199;

export function RunsTable({ lines }: { lines: readonly RunLine[] }) {
  return (
    <table class="runs-table">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Request</th>
          <th scope="col" class="wide-only">Progress</th>
          <th scope="col" class="wide-only number">Failed</th>
          <th scope="col" class="wide-only number">Cost</th>
          <th scope="col" class="number">Age</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => <Row key={line.run_id} line={line} />)}
      </tbody>
    </table>
  );
}

function Row({ line }: { line: RunLine }) {
  return (
    <tr>
      <td>
        <StatusMark status={line.status} />
      </td>
      <td class="run-request">
        <a class="run-link" href={`/runs/${line.run_id}`}>{shortened(line.request, SHOWN)}</a>
        {line.asking > 0 && (
          <span class="badge asks">
            <span aria-hidden="true">‖</span> needs approval
            {line.asking > 1 && <>({line.asking})</>}
          </span>
        )}
        {line.orphan && (
          <span class="badge" title="Its process is gone. Resume the run to continue.">
            <span aria-hidden="true">◌</span> no process
          </span>
        )}
        <p class="small muted">
          {line.flow !== "work-order" && `${flowName(line.flow)} · `}
          {line.model}
          <span class="narrow-only">{shortFacts(line).map((fact) => ` · ${fact}`)}</span>
        </p>
      </td>
      <td class="wide-only">
        <Progress line={line} />
      </td>
      <td class="wide-only number">
        {line.failed > 0
          ? <span class="tone-bad">▲ {line.failed.toLocaleString("en")}</span>
          : <span class="muted">0</span>}
      </td>
      <td class="wide-only number">
        {line.requests > 0 && line.cost_usd === null
          ? <span class="muted">Unknown</span>
          : money(line.cost_usd ?? 0)}
      </td>
      <td class="number muted">
        <Age at={line.created_at} />
      </td>
    </tr>
  );
}

function shortFacts(line: RunLine): readonly string[] {
  return [
    line.subtasks > 0 ? `${line.completed}/${line.subtasks} completed` : "",
    line.failed > 0 ? `${line.failed} failed` : "",
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
        <span class="lost" style={{ width: part(line.failed) }} />
      </span>
      <span class="progress-words">
        {line.completed.toLocaleString("en")}/{line.subtasks.toLocaleString("en")}
      </span>
    </span>
  );
}
