// Run a tool: a form made from its schema, and the result.

import { useState } from "preact/hooks";
import { post } from "../api.ts";
import { argumentsFrom, parametersOf, type Typed } from "../form/schema.ts";
import { SchemaForm } from "../form/schema_form.tsx";
import type { ToolSpec, ToolTrial } from "../wire.ts";
import { may } from "../session.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Form } from "../ui/field.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { SourceList } from "../ui/outer_link.tsx";
import { ProblemBox, ProblemNote } from "../ui/problem_note.tsx";

interface TryToolProps {
  readonly tool: ToolSpec;
  /** Called after each call, whether it succeeded or not. */
  readonly onCalled: () => void;
}

export function TryTool({ tool, onCalled }: TryToolProps) {
  const parameters = parametersOf(tool.parameters);
  const [typed, setTyped] = useState<Typed>({});
  const [offline, setOffline] = useState(false);
  const [errors, setErrors] = useState<Typed>({});
  const [confirming, setConfirming] = useState(false);
  const [result, setResult] = useState<ToolTrial | null>(null);
  async function call(confirmed: boolean): Promise<void> {
    setResult(null);
    const { args } = argumentsFrom(parameters, typed);
    setResult(
      await post("/api/tools/{name}/call", { name: tool.name }, {
        args,
        ...(offline && { offline: true }),
        ...(confirmed && { confirmed: true }),
      }),
    );
    onCalled();
  }
  const calling = useAction(() => call(false));
  return (
    <section class="tool-part" aria-labelledby="try-title">
      <h3 id="try-title">Run tool</h3>
      <Form
        class="try panel"
        noValidate
        onSubmit={() => {
          const found = argumentsFrom(parameters, typed).errors;
          setErrors(found);
          if (Object.keys(found).length > 0) return;
          if (tool.effect === "once") setConfirming(true);
          else calling.run();
        }}
      >
        <SchemaForm
          parameters={parameters}
          typed={typed}
          onInput={setTyped}
          errorOf={(name) => errors[name] ?? calling.problem?.errorAt(`args.${name}`)}
          hintOf={({ description }) => description}
          labelOf={({ name, required }) => (
            <>
              <code>{name}</code> {!required && <span class="muted">Optional</span>}
            </>
          )}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={offline}
            onChange={(event) => setOffline(event.currentTarget.checked)}
          />
          <span>
            Offline{" "}
            <span class="muted small">
              built-in tools return sample data
            </span>
          </span>
        </label>
        <ProblemNote problem={calling.problem} />
        <div class="buttons">
          <Button type="submit" disabled={!may("run")} kind="primary" busy={calling.busy}>
            {tool.effect === "once" ? "Run tool…" : "Run tool"}
          </Button>
          <span class="muted small">Starts no run and calls no model.</span>
        </div>
      </Form>
      <div aria-live="polite">{result && <Result result={result} />}</div>
      {confirming && (
        <Confirm
          title={`Run ${tool.name}?`}
          action="Run tool"
          onConfirm={() => call(true)}
          onClose={() => setConfirming(false)}
        >
          <p>
            This call is irreversible. It belongs to no run, so no event log records it.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Result({ result: { data, error } }: { result: ToolTrial }) {
  if (error) {
    return (
      <ProblemBox
        what={error.message}
        how={`${error.type} (${error.class})${error.next_action ? `: ${error.next_action}` : ""}`}
      />
    );
  }
  if (!data) return null;
  const { summary, raw, sources } = data;
  return (
    <div class="try-result">
      <p>
        <span class="tone-good">
          <span aria-hidden="true">✓</span> Succeeded.
        </span>{" "}
        {summary}
      </p>
      {raw !== undefined && raw !== null && <JsonView value={raw} label="result" />}
      <SourceList sources={sources} />
    </div>
  );
}
