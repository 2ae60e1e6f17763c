// Two runs side by side: their figures, their subtasks, and what differs in their answers.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { getRun } from "../api.ts";
import { count, duration, money, shortened } from "../formats.ts";
import { Changes } from "../report/changes.tsx";
import { place } from "../router.ts";
import { FailureBadge } from "../run/answer.tsx";
import { useFirstItems } from "../run/first_items.tsx";
import type { StepStatus } from "../run/view.ts";
import { shownStatus, STATUS_WORDS } from "../run/words.ts";
import { Button } from "../ui/button.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { StatusMark } from "../ui/status.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import type { RunDocument, StepLine } from "../wire.ts";
import { currentSubtasks, differs, type Pair, pairsOf } from "./pairs.ts";

export function CompareScreen() {
  useTitle("Compare runs");
  const { query } = place.value;
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const { value, problem } = useLoaded(() => Promise.all([getRun(a), getRun(b)]), {
    key: `${a} ${b}`,
  });
  return (
    <div class="compare">
      <h1>Compare runs</h1>
      <ProblemNote problem={problem} />
      {value === null ? !problem && <Waiting what="the runs" /> : <Both runs={value} />}
    </div>
  );
}

type Two = readonly [RunDocument, RunDocument];

function Both({ runs }: { runs: Two }) {
  const [before, after] = runs;
  const answers = [before.answer ?? "", after.answer ?? ""] as const;
  return (
    <>
      <Table caption="Runs" runs={runs}>
        <Line name="Status" runs={runs} of={(run) => <StatusMark status={run.status} />} />
        <Line name="Request" runs={runs} of={(run) => run.request} />
        <Line name="Flow" runs={runs} of={(run) => run.flow} />
        <Line
          name="Model"
          runs={runs}
          of={(run) => Object.values(run.models).join(", ") || run.model}
        />
        <Line name="Subtasks" runs={runs} of={subtaskWords} />
        <Line name="Time" runs={runs} of={timeOf} />
        <Line name="Cost" runs={runs} of={(run) => money(run.usage.cost_usd)} />
        <Line name="Requests" runs={runs} of={(run) => run.usage.requests.toLocaleString("en")} />
        <Line
          name="Tokens"
          runs={runs}
          of={({ usage }) =>
            `${usage.input_tokens.toLocaleString("en")} in, ${
              usage.output_tokens.toLocaleString("en")
            } out`}
        />
        <Line
          name="Limits"
          runs={runs}
          of={(run) => limitWords(run, runs[run === before ? 1 : 0]) || "As the other"}
        />
      </Table>
      <Subtasks runs={runs} />
      <section class="panel compare-part" aria-labelledby="compare-answers">
        <h2 id="compare-answers">Answers</h2>
        {answers[0] === answers[1]
          ? <p class="muted">Both answers are the same.</p>
          : <Changes names={["answer A", "answer B"]} before={answers[0]} after={answers[1]} />}
      </section>
    </>
  );
}

function Table(
  { caption, runs, children }: { caption: string; runs: Two; children: ComponentChildren },
) {
  return (
    <section class="panel compare-part table-scroll" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">{caption}</span>
            </th>
            {runs.map((run, at) => (
              <th key={at} scope="col">
                {"AB"[at]}: <a href={`/runs/${run.run_id}`}>{run.run_id}</a>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface LineProps {
  readonly name: string;
  readonly runs: Two;
  readonly of: (run: RunDocument) => ComponentChildren;
}

/** What differs stands out. */
function Line({ name, runs, of }: LineProps) {
  const [one, other] = [of(runs[0]), of(runs[1])];
  const differs = typeof one === "string" && one !== other;
  return (
    <tr class={differs ? "differs" : undefined}>
      <th scope="row">{name}</th>
      <td dir="auto">{one}</td>
      <td dir="auto">{other}</td>
    </tr>
  );
}

function subtaskWords(run: RunDocument): string {
  const lines = currentSubtasks(run);
  const number = (status: string) => lines.filter((line) => line.status === status).length;
  const missing = number("failed") + number("dropped");
  return `${number("completed")} of ${count(lines.length, "subtask")} completed${
    missing ? `, ${missing} missing` : ""
  }`;
}

function timeOf({ created_at, finished_at }: RunDocument): string {
  if (finished_at === null) return "Not over";
  return duration((Date.parse(finished_at) - Date.parse(created_at)) / 1000);
}

/** Return the limits of a run that differ from those of the other. */
function limitWords({ limits }: RunDocument, other: RunDocument): string {
  const others = other.limits as Record<string, unknown>;
  return Object.entries(limits).filter(([name, value]) => others[name] !== value)
    .map(([name, value]) => `${name} ${value ?? "none"}`).join(", ");
}

/** What differs; what is the same in both runs on request. */
function Subtasks({ runs }: { runs: Two }) {
  const [before, after] = runs;
  const [all, setAll] = useState(false);
  const pairs = pairsOf(currentSubtasks(before), currentSubtasks(after));
  const different = pairs.filter(differs);
  const same = pairs.length - different.length;
  const [shown, showAll] = useFirstItems(all ? pairs : different, "subtasks");
  if (pairs.length === 0) return null;
  return (
    <>
      {shown.length > 0 && (
        <Table caption="Subtasks" runs={runs}>
          {shown.map((pair, at) => <PairLine key={at} pair={pair} runs={runs} />)}
        </Table>
      )}
      {showAll}
      {same > 0 && !all && (
        <p class="muted">
          {count(same, "subtask")} {same === 1 ? "is" : "are"} the same in both runs.{" "}
          <Button small onClick={() => setAll(true)}>Show all subtasks</Button>
        </p>
      )}
    </>
  );
}

function PairLine({ pair, runs }: { pair: Pair; runs: Two }) {
  const { title, before, after } = pair;
  return (
    <tr class={differs(pair) ? "differs" : undefined}>
      <th scope="row" dir="auto">{title}</th>
      <SideOf line={before} run={runs[0]} />
      <SideOf line={after} run={runs[1]} />
    </tr>
  );
}

function SideOf({ line, run }: { line: StepLine | null; run: RunDocument }) {
  if (line === null) return <td class="muted">Not in this run</td>;
  const status = shownStatus({
    status: line.status as StepStatus,
    failure: line.failure ?? undefined,
  });
  return (
    <td dir="auto">
      <a href={`/runs/${run.run_id}?worker=${encodeURIComponent(line.id)}`}>
        <StatusMark status={status} word={STATUS_WORDS[status]} />
      </a>{" "}
      <span class="small">{shortened(line.failure?.message ?? line.summary, 200)}</span>{" "}
      {line.failure && <FailureBadge name={line.failure.class} />}
    </td>
  );
}
