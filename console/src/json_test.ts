// Test reading JSON that a person typed.

import assert from "node:assert/strict";
import { parseJson, parseObject } from "./json.ts";

Deno.test("a JSON object is accepted", () => {
  assert.deepEqual(parseObject('{"to": ["ann"]}'), { value: { to: ["ann"] } });
});

Deno.test("anything but an object is refused with a reason", () => {
  for (const text of ["", "[1]", "null", "7", '"x"', "{a: 1}"]) {
    const parsed = parseObject(text);
    assert.ok("error" in parsed && parsed.error.length > 10, text);
  }
});

Deno.test("null is a JSON value, an empty text is not", () => {
  assert.deepEqual(parseJson("null"), { value: null });
  assert.ok("error" in parseJson(""));
});
