// Test the parameters that a schema describes, and the arguments from a form.

import assert from "node:assert/strict";
import type { Schema } from "../json.ts";
import { argumentsFrom, parametersOf } from "./schema.ts";

const SCHEMA: Schema = {
  type: "object",
  required: ["to", "place"],
  properties: {
    to: { type: "array", items: { type: "string" } },
    place: { type: "string", description: "Where." },
    units: { enum: ["metric", "imperial"], default: "metric" },
    days: { type: "integer", default: 1 },
    dry: { anyOf: [{ type: "boolean" }, { type: "null" }], default: null },
    options: { $ref: "#/$defs/Options" },
    either: { type: ["string", "integer"] },
  },
  $defs: { Options: { type: "object", description: "More." } },
};

Deno.test("each parameter has a form control", () => {
  const parameters = parametersOf(SCHEMA).map((each) => [
    each.name,
    each.required,
    each.control,
    each.description,
  ]);
  assert.deepEqual(parameters, [
    ["to", true, "json", ""],
    ["place", true, "text", "Where."],
    ["units", false, "choice", ""],
    ["days", false, "number", ""],
    ["dry", false, "boolean", ""],
    ["options", false, "json", "More."],
    ["either", false, "json", ""],
  ]);
});

Deno.test("a schema that refers to itself does not hang", () => {
  const circle: Schema = {
    properties: { a: { $ref: "#/$defs/A" } },
    $defs: { A: { $ref: "#/$defs/A" } },
  };
  assert.equal(parametersOf(circle)[0]!.control, "json");
});

Deno.test("empty fields are left out, and each control is read by its type", () => {
  const typed = {
    to: '["ann"]',
    place: " 12 ",
    units: '"imperial"',
    days: "3",
    dry: "false",
    either: "7",
  };
  assert.deepEqual(argumentsFrom(parametersOf(SCHEMA), typed), {
    args: { to: ["ann"], place: " 12 ", units: "imperial", days: 3, dry: false, either: 7 },
    errors: {},
  });
});

Deno.test("missing and unreadable fields have errors", () => {
  const { args, errors } = argumentsFrom(parametersOf(SCHEMA), { to: "[", days: "many" });
  assert.deepEqual(args, {});
  assert.deepEqual(Object.keys(errors), ["to", "place", "days"]);
});
