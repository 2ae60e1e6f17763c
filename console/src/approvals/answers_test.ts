// Arguments that a person wrote are an object or are told to be none.

import assert from "node:assert/strict";
import { objectFrom } from "./answers.tsx";

Deno.test("an object is taken", () => {
  assert.deepEqual(objectFrom('{"to": ["ann"]}'), { value: { to: ["ann"] } });
});

Deno.test("anything else is refused with a reason", () => {
  for (const written of ["", "[1]", "null", "7", '"x"', "{a: 1}"]) {
    const read = objectFrom(written);
    assert.ok("wrong" in read && read.wrong.length > 10, written);
  }
});
