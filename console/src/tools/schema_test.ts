// Test the parameters that a schema describes, and the arguments from a form.

import assert from "node:assert/strict";
import type { Schema } from "../json.ts";
import { argumentsFrom, parametersOf } from "./schema.ts";

const SCHEMA: Schema = {
  type: "object",
  required: ["to", "place"],
  properties: {
    to: { type: "array", items: { type: "string" }, minItems: 1 },
    place: { type: "string", maxLength: 80, description: "Where." },
    units: { enum: ["metric", "imperial"], default: "metric" },
    days: { type: "integer", minimum: 1, maximum: 16, default: 1 },
    dry: { anyOf: [{ type: "boolean" }, { type: "null" }], default: null },
    options: { $ref: "#/$defs/Options" },
    either: { type: ["string", "integer"] },
  },
  $defs: { Options: { type: "object", description: "More." } },
};

Deno.test("each parameter has a type, bounds and a form control", () => {
  const parameters = parametersOf(SCHEMA).map((each) => [
    each.name,
    each.required,
    each.type,
    each.bounds,
    each.control,
    each.description,
  ]);
  assert.deepEqual(parameters, [
    ["to", true, "list of text", "at least 1 items", "json", ""],
    ["place", true, "text", "at most 80 characters", "text", "Where."],
    ["units", false, 'one of "metric", "imperial"', "", "choice", ""],
    ["days", false, "whole number", "1 to 16", "number", ""],
    ["dry", false, "yes or no or nothing", "", "boolean", ""],
    ["options", false, "object", "", "json", "More."],
    ["either", false, "text or whole number", "", "json", ""],
  ]);
});

Deno.test("a recursive schema is cut off", () => {
  const loop: Schema = {
    type: "object",
    properties: { tree: { $ref: "#/$defs/Tree" } },
    $defs: { Tree: { type: "array", items: { $ref: "#/$defs/Tree" } } },
  };
  assert.equal(parametersOf(loop)[0]!.type, "list of list of list of list");
  const circle: Schema = {
    properties: { a: { $ref: "#/$defs/A" } },
    $defs: { A: { $ref: "#/$defs/A" }, B: { anyOf: [{ $ref: "#/$defs/B" }, { type: "null" }] } },
  };
  assert.equal(parametersOf(circle)[0]!.type, "anything");
  assert.ok(parametersOf({ ...circle, properties: { b: { $ref: "#/$defs/B" } } })[0]!.type);
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
