// The parameters of a tool, read from its JSON schema, and arguments from what was typed.

import type { Json, JsonObject, Schema } from "../json.ts";

/** How a parameter is typed in: a line, a number, a choice, yes or no, or JSON. */
export type Control = "text" | "number" | "choice" | "truth" | "json";

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  /** The type in words: "text", "whole number", "list of text", "text or nothing". */
  readonly type: string;
  /** What holds beside the type: "0 to 5", "at most 80 characters". */
  readonly bounds: string;
  readonly control: Control;
  readonly whole: boolean;
  readonly choices: readonly Json[];
  /** Undefined where there is none. */
  readonly preset: Json | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

/** The parameters of a tool, in the order of its schema. */
export function parametersOf(schema: Schema): readonly Parameter[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, written]) => {
    const resolved = resolve(written, schema);
    const only = alternatives(resolved, schema).filter((each) => each.type !== "null");
    const single = only.length === 1 ? only[0]! : resolved;
    return {
      name,
      required: required.has(name),
      description: written.description ?? resolved.description ?? "",
      type: typeWords(resolved, schema),
      bounds: boundsOf(single),
      control: controlOf(single),
      whole: single.type === "integer",
      choices: choicesOf(single) ?? [],
      preset: written.default ?? resolved.default,
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
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map((each) => resolve(each, root));
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
      return "truth";
    default:
      return "json";
  }
}

const WORDS: { readonly [type: string]: string } = {
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
  const word = typeof only.type === "string" ? WORDS[only.type] ?? only.type : "anything";
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

function between(least: number | undefined, most: number | undefined, what: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${what}`;
  if (least !== undefined) return `at least ${least}${what}`;
  return most === undefined ? "" : `at most ${most}${what}`;
}

export type Typed = { readonly [name: string]: string };

/**
 * Return the arguments that were typed, without empty ones, and by name what is missing or cannot be read. The service
 * checks the rest.
 */
export function argumentsFrom(
  parameters: readonly Parameter[],
  typed: Typed,
): { readonly args: JsonObject; readonly wrong: { readonly [name: string]: string } } {
  const args: JsonObject = {};
  const wrong: { [name: string]: string } = {};
  for (const parameter of parameters) {
    const { name, control, required } = parameter;
    const written = typed[name] ?? "";
    if (control === "text" ? written === "" : written.trim() === "") {
      if (required) wrong[name] = "Required.";
      continue;
    }
    switch (control) {
      case "text":
        args[name] = written;
        break;
      case "number": {
        const number = Number(written);
        if (Number.isNaN(number)) wrong[name] = "Not a number.";
        else args[name] = number;
        break;
      }
      case "truth":
        args[name] = written === "true";
        break;
      case "choice":
      case "json":
        try {
          args[name] = JSON.parse(written) as Json;
        } catch (error) {
          wrong[name] = `This is no JSON: ${(error as Error).message}`;
        }
    }
  }
  return { args, wrong };
}
