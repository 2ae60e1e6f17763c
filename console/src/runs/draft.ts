// The draft of a request: it outlives the screen, and the same content starts one run.

import { signal } from "@preact/signals";
import type { Submission } from "../wire.ts";

/** The fields of the form as they were typed; "" for an empty field. */
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

/** Return what is sent for a draft: only the fields that are set; the service knows the defaults. */
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
 * Return the idempotency key of a run: the same for the same content until it has started, so that a double click, or a
 * retry after a lost answer, starts one run.
 */
export function keyOf(run: Submission): string {
  const content = JSON.stringify(run);
  if (keyed.content !== content) keyed = { content, key: randomKey() };
  return keyed.key;
}

/** Note that the draft became a run: the same content is now another run. */
export function spent(): void {
  keyed = { content: "", key: "" };
}

/** 128 random bits in hex: `crypto.randomUUID` is missing where a page is served over plain HTTP. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
