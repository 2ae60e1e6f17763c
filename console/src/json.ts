// JSON values, JSON that a person typed, and the part of JSON Schema that tools and flows use.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: Json;
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: { readonly [name: string]: Schema };
  readonly format?: string;
}

/** A value that was typed, or why the text cannot be used. */
export type Parsed<T> = { readonly value: T } | { readonly error: string };

export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function parseJson(text: string): Parsed<Json> {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { error: `Not valid JSON: ${(error as Error).message}` };
  }
}

export function parseObject(text: string): Parsed<JsonObject> {
  const parsed = parseJson(text);
  if ("error" in parsed) return parsed;
  return isObject(parsed.value)
    ? { value: parsed.value as JsonObject }
    : { error: "Write a JSON object: { … }" };
}
