// One model call: the prompt as it was sent, the reply, tokens, cost and time.

import { get } from "../../api.ts";
import { count, duration, exactJson, money } from "../../formats.ts";
import { Copy } from "../../ui/copy.tsx";
import { JsonView, TextView } from "../../ui/json_view.tsx";
import { useLoaded } from "../../ui/loading.ts";
import { ProblemBox, ProblemNote } from "../../ui/problem_note.tsx";
import { Waiting } from "../../ui/waiting.tsx";
import type { ModelCallDocument, SentMessage, SentPrompt, ToolCall } from "../../wire.ts";
import { FailureBadge } from "../answer/answer.tsx";
import { eventLink, workerLink } from "../selection.ts";

export function ModelCall({ runId, call }: { runId: string; call: string }) {
  const { value, problem } = useLoaded((options) => {
    const parameters = { run_id: runId, call_id: call };
    return get("/api/runs/{run_id}/calls/{call_id}", parameters, options);
  }, {
    key: `${runId} ${call}`,
  });
  if (problem) return <ProblemNote problem={problem} />;
  if (value === null) return <Waiting what="the model call" />;
  const worker = value.attempt.slice(0, value.attempt.lastIndexOf("/a"));
  return (
    <div class="inspector model-call">
      <div class="inspector-head">
        <h2>Model call: {value.worker}</h2>
        <p class="muted small">
          {value.model} · <a href={workerLink(worker)}>{value.attempt}</a> ·{" "}
          <a href={eventLink(value.seq)}>event {value.seq}</a>
          {value.returned_seq !== null && (
            <>
              {", "}
              <a href={eventLink(value.returned_seq)}>{value.returned_seq}</a>
            </>
          )}
        </p>
        <p>{usageWords(value)}</p>
      </div>
      {value.failure && (
        <ProblemBox
          what={
            <>
              <FailureBadge name={value.failure.class} /> {value.failure.message}
            </>
          }
          how={value.failure.next_action && `Next step: ${value.failure.next_action}`}
        />
      )}
      <Reply call={value} />
      <h3>Prompt</h3>
      <Prompt prompt={value.prompt} />
    </div>
  );
}

/** Return tokens, cost and time: "1,461 in (800 cached) · 420 out · $0.00036 · 2.5 s". */
export function usageWords(call: ModelCallDocument): string {
  const { usage, duration_ms: ms } = call;
  const number = (tokens: number) => tokens.toLocaleString("en");
  const parts = usage
    ? [
      `${number(usage.input_tokens)} in${
        usage.cached_tokens > 0 ? ` (${number(usage.cached_tokens)} cached)` : ""
      }`,
      `${number(usage.output_tokens)} out`,
      money(usage.cost_usd),
    ]
    : [];
  if (ms !== null) parts.push(duration(ms / 1000));
  if (call.ended_at === null) parts.push("not answered yet");
  if (call.finish_reason) parts.push(`finished: ${call.finish_reason}`);
  return parts.join(" · ");
}

function Reply({ call: { reply } }: { call: ModelCallDocument }) {
  if (reply === null) return null;
  return (
    <section aria-label="Reply">
      <h3>Reply</h3>
      {reply.text && <TextView text={reply.text} label="reply" />}
      <ToolCalls calls={reply.tool_calls} />
      {reply.value !== null && reply.value !== undefined && (
        <JsonView value={reply.value} label="structured reply" />
      )}
    </section>
  );
}

function Prompt({ prompt }: { prompt: SentPrompt }) {
  const { messages, tools, output, max_tokens: most } = prompt;
  return (
    <>
      <p class="small muted">
        {count(messages.length, "message")}, at most {most.toLocaleString("en")} tokens of answer.
        {" "}
        <Copy text={exactJson(prompt)} what="prompt as JSON">Copy prompt</Copy>
      </p>
      <ol class="list messages">
        {messages.map((message, at) => <Message key={at} message={message} />)}
      </ol>
      {tools.length > 0 && (
        <details>
          <summary>Tools offered ({tools.length})</summary>
          <JsonView value={tools} label="tools" />
        </details>
      )}
      {output && (
        <details>
          <summary>Schema of the answer</summary>
          <JsonView value={output} label="schema" />
        </details>
      )}
    </>
  );
}

function Message({ message }: { message: SentMessage }) {
  const { role, text, tool_calls: calls = [], name } = message;
  return (
    <li class={`message of-${role}`}>
      <p class="small">
        <strong>{role}</strong> {name && <code>{name}</code>}{" "}
        <span class="muted">{count(text.length, "character")}</span>
      </p>
      {text && <TextView text={text} label={`${role} message`} />}
      <ToolCalls calls={calls} />
    </li>
  );
}

function ToolCalls({ calls }: { calls: readonly ToolCall[] }) {
  return (
    <>
      {calls.map((call) => (
        <div key={call.id} class="tool-call">
          <p class="small">
            Calls <code>{call.name}</code>
          </p>
          {call.arguments === null
            ? <TextView text={call.raw ?? ""} label="arguments that are not JSON" />
            : <JsonView value={call.arguments} label="arguments" />}
        </div>
      ))}
    </>
  );
}
