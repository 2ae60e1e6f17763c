// The Report tab: what the researchers do, the draft while it is written, then the report with the verdicts on its claims.

import {
  Answer,
  AnswerTools,
  Earlier,
  Gaps,
  withSources,
  WrittenDraft,
} from "../run/answer/answer.tsx";
import { Beside } from "../run/answer/beside.tsx";
import { workerLink } from "../run/selection.ts";
import type { RunStore } from "../run/state/store.ts";
import { isOpen, isOver } from "../run/state/view.ts";
import { attemptsOf, type Lane } from "../run/state/lanes.ts";
import { STATUS_WORDS } from "../run/words.ts";
import { count } from "../formats.ts";
import { StatusGlyph } from "../ui/status.tsx";
import { ReportText } from "./report_text.tsx";
import type { ReportDraft as Draft, RunDocument, Task as ReportTask } from "../wire.ts";

export function Report({ store }: { store: RunStore }) {
  const document = store.document.value;
  const task = document?.task;
  if (!task || !document) return <Answer store={store} />;
  const latest = task.drafts.at(-1);
  const writing = writtenNow(store, task);
  if (!writing && !latest) {
    return (
      <>
        <Research store={store} task={task} />
        {isOver(store.view.run.value.status) && <Answer store={store} />}
      </>
    );
  }
  return (
    <>
      {writing
        ? <WrittenDraft text={writing} />
        : <Latest draft={latest!} task={task} sources={document.sources} />}
      {!writing && <Beside document={document} />}
      {!writing && <Gaps document={document} store={store} />}
      <details>
        <summary>Research ({count(task.research.length, "question")})</summary>
        <Research store={store} task={task} />
      </details>
      <Earlier answers={document.earlier_answers} />
    </>
  );
}

/** Return the text that a model is writing now, until the document has it; "" when nobody writes. */
function writtenNow(store: RunStore, task: ReportTask): string {
  const live = store.draft.value;
  if (live === null || isOver(store.view.run.value.status)) return "";
  const key = live.attempt.slice(0, live.attempt.lastIndexOf("/a"));
  const lane = store.view.step(key);
  const loaded = task.drafts.some((draft) => draft.key === key);
  return lane !== undefined && (isOpen(lane.status) || lane.status === "completed" && !loaded)
    ? live.text
    : "";
}

interface LatestProps {
  readonly draft: Draft;
  readonly task: ReportTask;
  readonly sources: RunDocument["sources"];
}

function Latest({ draft, task, sources }: LatestProps) {
  const { final_report } = task;
  const name = final_report === null ? `Draft ${draft.number}` : "Final report";
  return (
    <article class="answer report" aria-label={name}>
      <div class="report-head">
        <p class="muted small">
          {name}
          {draft.verdict === "APPROVED" && ", approved"}
          {draft.verdict === "NEEDS_REVISION" && ", with open findings"}
        </p>
        <AnswerTools
          text={final_report === null ? draft.text : withSources(final_report, sources)}
        />
      </div>
      <ReportText draft={draft} task={task} />
    </article>
  );
}

/** Each question with what its researcher does now, and what it found. */
function Research({ store, task }: { store: RunStore; task: ReportTask }) {
  const found = new Map(task.research.map((each) => [each.key, each]));
  const lanes = store.view.steps.value.filter((lane) =>
    lane.worker === "researcher" || found.has(lane.key)
  );
  if (lanes.length === 0) {
    return <p class="muted">No research yet. The planner writes the questions first.</p>;
  }
  return (
    <ol class="research list" aria-label="Research">
      {lanes.map((lane) => {
        const question = found.get(lane.key);
        return (
          <li key={lane.key}>
            <p>
              <StatusGlyph status={lane.status} />{" "}
              <a href={workerLink(lane.key)}>{question?.heading ?? lane.label}</a>{" "}
              <span class="muted small">{progressOf(lane, question?.findings.length ?? 0)}</span>
            </p>
            {question?.question && <p class="muted small">{question.question}</p>}
            {lane.failure && <p class="small tone-bad">{lane.failure.message}</p>}
          </li>
        );
      })}
    </ol>
  );
}

function progressOf(lane: Lane, findings: number): string {
  const calls = attemptsOf(lane).flatMap((attempt) => Object.values(attempt.calls))
    .filter(({ kind }) => kind === "tool");
  const open = calls.findLast((call) => call.ended_at === undefined);
  const parts = [STATUS_WORDS[lane.status]];
  if (open) parts.push(`calls ${open.name}`);
  if (calls.length > 0) parts.push(count(calls.length, "call"));
  if (findings > 0) parts.push(count(findings, "finding"));
  return parts.join(" · ");
}
