// The request that is being written: it outlives the screen, and one content makes one run.

import { signal } from "@preact/signals";
import type { Submission } from "../wire.ts";

/** The fields of the form as they were typed; "" is what was not given. */
export interface Draft {
  readonly request: string;
  readonly flow: string;
  readonly model: string;
  readonly offline: boolean;
  readonly budget: string;
  readonly maxSteps: string;
  readonly maxWorkers: string;
  readonly batchSize: string;
  readonly timeout: string;
  readonly approve: string;
}

export const EMPTY: Draft = {
  request: "",
  flow: "work-order",
  model: "",
  offline: false,
  budget: "",
  maxSteps: "",
  maxWorkers: "",
  batchSize: "",
  timeout: "",
  approve: "",
};

export const draft = signal<Draft>(EMPTY);

/** What is sent for a draft: only what was given; the service knows the defaults. */
export function newRunOf(written: Draft): Submission {
  const limits = Object.fromEntries(
    ([
      ["budget", written.budget],
      ["max_steps", written.maxSteps],
      ["max_workers", written.maxWorkers],
      ["batch_size", written.batchSize],
      ["timeout", written.timeout],
    ] as const).filter(([, value]) => value.trim() !== "")
      .map(([name, value]) => [name, Number(value)]),
  );
  return {
    request: written.request.trim(),
    flow: written.flow,
    ...(written.model.trim() && !written.offline && { model: written.model.trim() }),
    ...(written.offline && { offline: true }),
    ...(written.approve && { approve: written.approve as Submission["approve"] }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

let keyed = { content: "", key: "" };

/**
 * The idempotency key of a run: the same for the same content until it has started, so that a double click, or a second
 * try after an answer that was lost, makes one run.
 */
export function keyOf(run: Submission): string {
  const content = JSON.stringify(run);
  if (keyed.content !== content) keyed = { content, key: randomKey() };
  return keyed.key;
}

/** The draft became a run: the next one, however like it, is another. */
export function spent(): void {
  keyed = { content: "", key: "" };
}

/** 128 random bits in hex: `crypto.randomUUID` is missing where a page is served over plain HTTP. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
