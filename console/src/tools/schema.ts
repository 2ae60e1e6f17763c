// The parameters that a JSON schema describes, and their values as typed in a form.

import { type Json, type JsonObject, parseJson, type Schema } from "../json.ts";

/** The form control of a parameter. */
type Control = "text" | "number" | "choice" | "boolean" | "json";

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  /** The type in words: "text", "whole number", "list of text", "text or nothing". */
  readonly type: string;
  /** Further constraints in words: "0 to 5", "at most 80 characters". */
  readonly bounds: string;
  readonly control: Control;
  readonly integer: boolean;
  readonly choices: readonly Json[];
  /** Undefined without a default. */
  readonly preset: Json | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

/** Return the parameters in the order of the schema. */
export function parametersOf(schema: Schema): readonly Parameter[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const resolved = resolve(property, schema);
    const types = alternatives(resolved, schema).filter((each) => each.type !== "null");
    const single = types.length === 1 ? types[0]! : resolved;
    return {
      name,
      required: required.has(name),
      description: property.description ?? resolved.description ?? "",
      type: typeWords(resolved, schema),
      bounds: boundsOf(single),
      control: controlOf(single),
      integer: single.type === "integer",
      choices: choicesOf(single) ?? [],
      preset: property.default ?? resolved.default,
      minimum: single.minimum,
      maximum: single.maximum,
    };
  });
}

function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let hops = 0; found.$ref !== undefined && hops < 8; hops += 1) {
    const name = found.$ref.replace("#/$defs/", "");
    found = root.$defs?.[name] ?? {};
  }
  return found;
}

function alternatives(schema: Schema, root: Schema): readonly Schema[] {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map((each) => resolve(each, root));
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => ({ ...schema, type }));
  return [schema];
}

function choicesOf(schema: Schema): readonly Json[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
}

function controlOf(schema: Schema): Control {
  if (choicesOf(schema)) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

const TYPE_WORDS: { readonly [type: string]: string } = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "yes or no",
  object: "object",
  array: "list",
  null: "nothing",
};

function typeWords(schema: Schema, root: Schema, depth = 0): string {
  const several = alternatives(schema, root);
  if (several.length > 1 && depth < 3) {
    return several.map((each) => typeWords(each, root, depth + 1)).join(" or ");
  }
  const [only = {}] = several;
  const choices = choicesOf(only);
  if (choices) return "one of " + choices.map((choice) => JSON.stringify(choice)).join(", ");
  if (only.type === "array" && only.items && depth < 3) {
    return `list of ${typeWords(resolve(only.items, root), root, depth + 1)}`;
  }
  const word = typeof only.type === "string" ? TYPE_WORDS[only.type] ?? only.type : "anything";
  return only.format ? `${word} (${only.format})` : word;
}

function boundsOf(schema: Schema): string {
  return [
    between(schema.minimum, schema.maximum, ""),
    between(schema.minLength, schema.maxLength, " characters"),
    between(schema.minItems, schema.maxItems, " items"),
    schema.pattern === undefined ? "" : `matches ${schema.pattern}`,
  ].filter(Boolean).join(", ");
}

function between(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? "" : `at most ${most}${unit}`;
}

/** Texts by the name of a parameter. */
export type Typed = { readonly [name: string]: string };

/**
 * Return the arguments that were typed, without empty ones, and the errors of parameters that are missing or cannot be
 * read. The service checks the rest.
 */
export function argumentsFrom(
  parameters: readonly Parameter[],
  typed: Typed,
): { readonly args: JsonObject; readonly errors: Typed } {
  const args: JsonObject = {};
  const errors: { [name: string]: string } = {};
  for (const parameter of parameters) {
    const { name, control, required } = parameter;
    const text = typed[name] ?? "";
    if (control === "text" ? text === "" : text.trim() === "") {
      if (required) errors[name] = "Required.";
      continue;
    }
    switch (control) {
      case "text":
        args[name] = text;
        break;
      case "number": {
        const number = Number(text);
        if (Number.isNaN(number)) errors[name] = "Not a number.";
        else args[name] = number;
        break;
      }
      case "boolean":
        args[name] = text === "true";
        break;
      case "choice":
      case "json": {
        const parsed = parseJson(text);
        if ("error" in parsed) errors[name] = parsed.error;
        else args[name] = parsed.value;
      }
    }
  }
  return { args, errors };
}
