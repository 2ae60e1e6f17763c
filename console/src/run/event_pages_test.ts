// Test the event log that is fetched page by page.

import assert from "node:assert/strict";
import { EventPages, PAGE, type Told } from "./event_pages.ts";
import type { Words } from "./view.ts";

function told(seq: number, words: Partial<Words> = {}): Told {
  const all: Words = {
    title: "Tool called",
    text: "",
    subject: "",
    tone: "info",
    level: "detail",
    topics: [],
    ...words,
  };
  return { seq, at: "2026-11-21T12:00:00.000Z", type: "tool_call_began", words: all };
}

/** A log of so many events; `asked` lists the pages that were fetched. */
function logOf(length: number) {
  const asked: number[] = [];
  const pages = new EventPages((after) => {
    asked.push(after);
    const size = Math.min(PAGE, length - after);
    return Promise.resolve(Array.from({ length: size }, (_, at) => told(after + at + 1)));
  }, () => {});
  return { pages, asked };
}

Deno.test("only pages that are needed are fetched, each once", async () => {
  const { pages, asked } = logOf(10_000);
  await pages.need(9_970, 10_000);
  assert.deepEqual(asked, [9_500]);
  await pages.need(9_501, 10_000);
  await pages.need(9_600, 9_700);
  assert.deepEqual(asked, [9_500]);
  assert.equal(pages.row(9_501)?.seq, 9_501);
  assert.equal(pages.row(9_500), undefined);
});

Deno.test("a whole log is fetched from its end backwards, a page at a time", async () => {
  const { pages, asked } = logOf(1_800);
  await Promise.all([pages.need(1, 1_800), pages.need(1, 1_800)]);
  assert.deepEqual(asked, [1_500, 1_000, 500, 0]);
  assert.equal(pages.known, 1_800);
});

Deno.test("what is needed last is fetched first", async () => {
  const { pages, asked } = logOf(2_500);
  const whole = pages.need(1, 2_500);
  await pages.need(10, 20);
  await whole;
  assert.deepEqual(asked, [2_000, 0, 1_500, 1_000, 500]);
});

Deno.test("events that came by the stream are not fetched", async () => {
  const { pages, asked } = logOf(2_000);
  for (let seq = 1_501; seq <= 2_000; seq += 1) pages.add(told(seq));
  await pages.need(1_980, 2_000);
  assert.deepEqual(asked, []);
  assert.equal(pages.known, 500);
});

Deno.test("a page that could not be fetched is fetched when it is needed again", async () => {
  let fails = true;
  const pages = new EventPages(
    () => fails ? Promise.reject(new Error("no answer")) : Promise.resolve([told(1)]),
    () => {},
  );
  await assert.rejects(pages.need(1, 1));
  fails = false;
  await pages.need(1, 1);
  assert.equal(pages.row(1)?.seq, 1);
});

Deno.test("a filter passes rows by their words, number, type and kinds", () => {
  const { pages } = logOf(0);
  pages.add(told(1, { title: "Completed", subject: "wo-001.7", topics: ["work"] }));
  pages.add(
    told(2, { title: "Tool failed", text: "No answer", tone: "problem", topics: ["tools"] }),
  );
  pages.add(told(4, { topics: ["tools"] }));
  const seqs = (text: string, ...kinds: ("problems" | "tools" | "work")[]) =>
    pages.matching({ text, kinds }, 4).map((row) => row.seq).join();
  assert.equal(seqs("WO-001.7"), "1");
  assert.equal(seqs("no answer"), "2");
  assert.equal(seqs("tool_call"), "1,2,4");
  assert.equal(seqs("", "problems"), "2");
  assert.equal(seqs("", "tools"), "2,4");
  assert.equal(seqs("", "work", "problems"), "1,2");
  assert.equal(seqs("called", "tools"), "4");
  assert.equal(seqs("absent"), "");
});
