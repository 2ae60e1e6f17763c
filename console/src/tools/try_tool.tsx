// Run a tool: a form made from its schema, and the result.

import { useState } from "preact/hooks";
import { callTool } from "../api.ts";
import type { ToolDocument, ToolTrial } from "../wire.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { OuterLink } from "../ui/outer_link.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { argumentsFrom, type Parameter, type Typed } from "./schema.ts";

export interface TryToolProps {
  readonly tool: ToolDocument;
  readonly parameters: readonly Parameter[];
  /** Called after each call, whether it succeeded or not. */
  readonly onCalled: () => void;
}

export function TryTool({ tool, parameters, onCalled }: TryToolProps) {
  const [typed, setTyped] = useState<Typed>({});
  const [offline, setOffline] = useState(false);
  const [wrong, setWrong] = useState<Typed>({});
  const [asking, setAsking] = useState(false);
  const [result, setResult] = useState<ToolTrial | null>(null);
  async function call(confirmed: boolean): Promise<void> {
    setResult(null);
    const { args } = argumentsFrom(parameters, typed);
    setResult(
      await callTool(tool.name, {
        args,
        ...(offline && { offline: true }),
        ...(confirmed && { confirmed: true }),
      }),
    );
    onCalled();
  }
  const calling = useAction(() => call(false));
  const wrongOf = (name: string) =>
    wrong[name] ??
      calling.problem?.errors.find((each) => each.where === `body.args.${name}`)?.what ?? null;
  return (
    <section class="tool-part" aria-labelledby="try-title">
      <h3 id="try-title">Run tool</h3>
      <form
        class="try panel"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const read = argumentsFrom(parameters, typed);
          setWrong(read.wrong);
          if (Object.keys(read.wrong).length > 0) return;
          if (tool.effect === "once") setAsking(true);
          else calling.run();
        }}
      >
        {parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            written={typed[parameter.name] ?? ""}
            wrong={wrongOf(parameter.name)}
            onInput={(value) => setTyped((held) => ({ ...held, [parameter.name]: value }))}
          />
        ))}
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
          <Button type="submit" kind="primary" busy={calling.busy}>
            {tool.effect === "once" ? "Run tool…" : "Run tool"}
          </Button>
          <span class="muted small">Starts no run and calls no model.</span>
        </div>
      </form>
      <div aria-live="polite">{result && <Result result={result} />}</div>
      {asking && (
        <Confirm
          title={`Run ${tool.name}?`}
          action="Run tool"
          onConfirm={() => call(true)}
          onClose={() => setAsking(false)}
        >
          <p>
            This call is irreversible. It belongs to no run, so no event log records it.
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly written: string;
  readonly wrong: string | null;
  readonly onInput: (value: string) => void;
}

function ParameterField({ parameter, written, wrong, onInput }: ParameterFieldProps) {
  const { name, required, control, preset } = parameter;
  const label = (
    <>
      <code>{name}</code> {required ? "" : <span class="muted">Optional</span>}
    </>
  );
  const shown = preset === undefined || preset === null ? "" : JSON.stringify(preset);
  const none = shown ? `Default: ${shown}` : "None";
  const hint = control === "json" ? `JSON: ${parameter.type}` : undefined;
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(described) => {
        switch (control) {
          case "choice":
          case "truth": {
            const choices = control === "truth" ? [true, false] : parameter.choices;
            return (
              <select
                {...described}
                value={written}
                onChange={(event) => onInput(event.currentTarget.value)}
              >
                <option value="">{required ? "Choose…" : none}</option>
                {choices.map((choice) => {
                  const value = JSON.stringify(choice);
                  const words = choice === true ? "yes" : choice === false ? "no" : String(choice);
                  return <option key={value} value={value}>{words}</option>;
                })}
              </select>
            );
          }
          case "number":
            return (
              <input
                {...described}
                type="number"
                step={parameter.whole ? 1 : "any"}
                min={parameter.minimum}
                max={parameter.maximum}
                value={written}
                placeholder={required ? "" : none}
                onInput={(event) => onInput(event.currentTarget.value)}
              />
            );
          default:
            return (
              <textarea
                {...described}
                class={control === "json" ? "code" : "line"}
                rows={control === "json" ? 2 : 1}
                spellcheck={false}
                value={written}
                placeholder={required ? "" : none}
                onInput={(event) => onInput(event.currentTarget.value)}
              />
            );
        }
      }}
    </Field>
  );
}

function Result({ result: { data, error } }: { result: ToolTrial }) {
  if (error) {
    return (
      <div class="problem">
        <p>
          <span aria-hidden="true" class="problem-mark">▲</span> {error.message}
        </p>
        <p class="problem-how">
          {error.type} ({error.class}){error.next_action &&
            `: ${error.next_action}`}
        </p>
      </div>
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
      {sources.length > 0 && (
        <ul class="small">
          {sources.map((source) => (
            <li key={source.url + source.title}>
              <OuterLink href={source.url}>{source.title || source.url}</OuterLink>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
