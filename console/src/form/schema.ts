// The parameters that a JSON schema describes, and their values as typed in a form.

import { type Json, type JsonObject, parseJson, type Schema } from "../json.ts";

/** The form control of a parameter. */
type Control = "text" | "number" | "choice" | "boolean" | "json";

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly control: Control;
  readonly integer: boolean;
  readonly choices: readonly Json[];
  /** Undefined without a default. */
  readonly preset: Json | undefined;
}

/** Return the parameters in the order of the schema. */
export function parametersOf(schema: Schema): readonly Parameter[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const resolved = resolve(property, schema);
    const types = alternatives(resolved, schema).filter((each) => each.type !== "null");
    const single = types.find((each) => choicesOf(each)) ??
      (types.length === 1 ? types[0]! : resolved);
    return {
      name,
      required: required.has(name),
      description: property.description ?? resolved.description ?? "",
      control: controlOf(single),
      integer: single.type === "integer",
      choices: choicesOf(single) ?? [],
      preset: property.default ?? resolved.default,
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

/** Texts by the name of a parameter. */
export type Typed = { readonly [name: string]: string };

/**
 * Return the arguments that were typed, without empty ones, and the errors of parameters that are missing or cannot be
 * read, by `prefix` and name. The service checks the rest.
 */
export function argumentsFrom(
  parameters: readonly Parameter[],
  typed: Typed,
  prefix = "",
): { readonly args: JsonObject; readonly errors: Typed } {
  const args: JsonObject = {};
  const errors: { [name: string]: string } = {};
  for (const parameter of parameters) {
    const { name, control, required } = parameter;
    const text = typed[name] ?? "";
    if (control === "text" ? text === "" : text.trim() === "") {
      if (required) errors[prefix + name] = "Required.";
      continue;
    }
    if (control === "number" && Number.isNaN(Number(text))) errors[prefix + name] = "Not a number.";
    else if (control === "number") args[name] = Number(text);
    else if (control === "text") args[name] = text;
    else {
      const parsed = parseJson(text);
      if ("error" in parsed) errors[prefix + name] = parsed.error;
      else args[name] = parsed.value;
    }
  }
  return { args, errors };
}
