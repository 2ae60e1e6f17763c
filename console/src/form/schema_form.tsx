// The fields of a form that a JSON schema describes.

import type { ComponentChildren } from "preact";
import { capitalized } from "../formats.ts";
import type { Json } from "../json.ts";
import { Choice, JsonArea, TextArea, TextField } from "../ui/field.tsx";
import type { Parameter, Typed } from "./schema.ts";

interface SchemaFormProps {
  readonly parameters: readonly Parameter[];
  readonly typed: Typed;
  readonly onInput: (typed: Typed) => void;
  readonly errorOf: (name: string) => string | null | undefined;
  /** Return the label of a field; without it, a field has the name of its parameter as words. */
  readonly labelOf?: (parameter: Parameter) => ComponentChildren;
  /** Return what to show below a field. */
  readonly hintOf?: (parameter: Parameter) => string;
  /** What an empty field stands for, where the schema names no default. */
  readonly empty?: string;
}

export function SchemaForm(props: SchemaFormProps) {
  const { parameters, typed, onInput, errorOf, labelOf, hintOf, empty = "None" } = props;
  return (
    <>
      {parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          label={labelOf?.(parameter) ?? wordsOf(parameter.name)}
          hint={hintOf?.(parameter)}
          empty={empty}
          error={errorOf(parameter.name)}
          value={typed[parameter.name] ?? ""}
          onInput={(text) => onInput({ ...typed, [parameter.name]: text })}
        />
      ))}
    </>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly label: ComponentChildren;
  readonly hint: string | undefined;
  readonly empty: string;
  readonly error: string | null | undefined;
  readonly value: string;
  readonly onInput: (text: string) => void;
}

function ParameterField({ parameter, empty, hint, ...field }: ParameterFieldProps) {
  const { required, control, preset } = parameter;
  const absent = preset === undefined || preset === null ? empty : `Default: ${shown(preset)}`;
  const text = { ...field, hint, placeholder: required ? "" : absent };
  switch (control) {
    case "choice":
    case "boolean": {
      const choices = control === "boolean" ? [true, false] : parameter.choices;
      return (
        <Choice
          {...field}
          hint={hint}
          choices={[
            ["", required ? "Choose…" : absent],
            ...choices.map((choice) =>
              [
                JSON.stringify(choice),
                typeof choice === "string" ? choice : shown(choice),
              ] as const
            ),
          ]}
        />
      );
    }
    case "number":
      return (
        <TextField
          {...text}
          type="number"
          step={parameter.integer ? 1 : "any"}
        />
      );
    case "text":
      return <TextArea {...text} class="line" rows={1} spellcheck={false} />;
    case "json":
      return <JsonArea {...text} hint={hint ? `${hint} (JSON)` : "JSON"} rows={2} />;
  }
}

function shown(value: Json): string {
  return value === true ? "yes" : value === false ? "no" : JSON.stringify(value);
}

/** Return the name of a parameter for people: "max_turns" is "Max. turns". */
export function wordsOf(name: string): string {
  return capitalized(name.replaceAll("_", " ")).replace(/^Max /, "Max. ");
}
