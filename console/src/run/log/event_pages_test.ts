// Test the event log, which is fetched page by page.

import assert from "node:assert/strict";
import { EventPages, PAGE_SIZE } from "./event_pages.ts";
import type { EventSummary, Words } from "../state/view.ts";

function sampleEvent(seq: number, words: Partial<Words> = {}): EventSummary {
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

/** A log of so many events; `fetched` lists the pages that were fetched, by the event before each. */
function logOf(length: number) {
  const fetched: number[] = [];
  const pages = new EventPages((after) => {
    fetched.push(after);
    const size = Math.min(PAGE_SIZE, length - after);
    return Promise.resolve(Array.from({ length: size }, (_, at) => sampleEvent(after + at + 1)));
  });
  return { pages, fetched };
}

Deno.test("only the pages in sight are fetched, each once", async () => {
  const { pages, fetched } = logOf(10_000);
  await pages.load(9_970, 10_000);
  assert.deepEqual(fetched, [9_500]);
  await pages.load(9_501, 10_000);
  await pages.load(9_600, 9_700);
  assert.deepEqual(fetched, [9_500]);
  assert.equal(pages.get(9_501)?.seq, 9_501);
  assert.equal(pages.get(9_500), undefined);
});

Deno.test("a whole log is fetched from its end backwards, a page at a time", async () => {
  const { pages, fetched } = logOf(1_800);
  await Promise.all([pages.load(1, 1_800), pages.load(1, 1_800)]);
  assert.deepEqual(fetched, [1_500, 1_000, 500, 0]);
  assert.equal(pages.loaded.value, 1_800);
});

Deno.test("events that arrived by the stream are not fetched", async () => {
  const { pages, fetched } = logOf(2_000);
  for (let seq = 1_501; seq <= 2_000; seq += 1) pages.add(sampleEvent(seq));
  await pages.load(1_980, 2_000);
  assert.deepEqual(fetched, []);
  assert.equal(pages.loaded.value, 500);
});

Deno.test("a page that could not be fetched is fetched at the next request", async () => {
  let fails = true;
  const pages = new EventPages(
    () => fails ? Promise.reject(new Error("no answer")) : Promise.resolve([sampleEvent(1)]),
  );
  await assert.rejects(pages.load(1, 1));
  fails = false;
  await pages.load(1, 1);
  assert.equal(pages.get(1)?.seq, 1);
});

Deno.test("a filter matches events by words, number, type and kind", () => {
  const { pages } = logOf(0);
  pages.add(sampleEvent(1, { title: "Completed", subject: "wo-001.7", topics: ["work"] }));
  pages.add(
    sampleEvent(2, { title: "Tool failed", text: "No answer", tone: "problem", topics: ["tools"] }),
  );
  pages.add(sampleEvent(4, { topics: ["tools"] }));
  const seqs = (text: string, ...kinds: ("problems" | "tools" | "work")[]) =>
    pages.matching({ text, kinds }, 4).map((event) => event.seq).join();
  assert.equal(seqs("WO-001.7"), "1");
  assert.equal(seqs("no answer"), "2");
  assert.equal(seqs("tool_call"), "1,2,4");
  assert.equal(seqs("", "problems"), "2");
  assert.equal(seqs("", "tools"), "2,4");
  assert.equal(seqs("", "work", "problems"), "1,2");
  assert.equal(seqs("called", "tools"), "4");
  assert.equal(seqs("absent"), "");
});
