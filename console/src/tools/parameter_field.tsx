// The form field of a parameter, by its schema.

import type { Json } from "../json.ts";
import { Field, JsonArea, TextArea, TextField } from "../ui/field.tsx";
import type { Parameter } from "./schema.ts";

interface ParameterFieldProps {
  readonly parameter: Parameter;
  /** Its name for people; the name in code without one. */
  readonly label?: string;
  readonly text: string;
  readonly error: string | null | undefined;
  readonly onInput: (text: string) => void;
}

export function ParameterField(props: ParameterFieldProps) {
  const { parameter, text, error, onInput } = props;
  const { name, required, control, preset } = parameter;
  const label = props.label ?? (
    <>
      <code>{name}</code> {!required && <span class="muted">Optional</span>}
    </>
  );
  const hasPreset = preset !== undefined && preset !== null;
  const absent = hasPreset ? `Default: ${wordsOf(preset)}` : "None";
  const field = { label, error, value: text, onInput, placeholder: required ? "" : absent };
  switch (control) {
    case "choice":
    case "boolean":
      return (
        <Field label={label} error={error}>
          {(described) => (
            <select
              {...described}
              value={text}
              onChange={(event) => onInput(event.currentTarget.value)}
            >
              <option value="">{required ? "Choose…" : absent}</option>
              {(control === "boolean" ? [true, false] : parameter.choices).map((choice) => {
                const value = JSON.stringify(choice);
                const words = typeof choice === "string" ? choice : wordsOf(choice);
                return <option key={value} value={value}>{words}</option>;
              })}
            </select>
          )}
        </Field>
      );
    case "number":
      return (
        <TextField
          {...field}
          type="number"
          step={parameter.integer ? 1 : "any"}
          min={parameter.minimum}
          max={parameter.maximum}
        />
      );
    case "text":
      return <TextArea {...field} class="line" rows={1} spellcheck={false} />;
    case "json":
      return <JsonArea {...field} hint={`JSON: ${parameter.type}`} rows={2} />;
  }
}

function wordsOf(value: Json): string {
  return value === true ? "yes" : value === false ? "no" : JSON.stringify(value);
}
