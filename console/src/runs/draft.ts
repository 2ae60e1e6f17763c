// The draft of a run: it outlives the screen, and the same content starts one run.

import type { JsonObject } from "../json.ts";
import { saved } from "../saved.ts";
import type { Typed } from "../tools/schema.ts";
import type { Submission } from "../wire.ts";

/** A stage that is added to one report, or replaced in it, as typed. */
export interface StageDraft {
  readonly name: string;
  /** "": where its class says. */
  readonly after: string;
  readonly instructions: string;
  /** The Python class that carries the stage out. */
  readonly agent?: string;
}

/** The fields of the form as typed; "" for an empty field. */
export interface Draft {
  readonly request: string;
  readonly flow: string;
  /** The options of the flow, by name. */
  readonly options: Typed;
  /** The stages that are added to a report. */
  readonly stages: readonly StageDraft[];
  readonly model: string;
  readonly offline: boolean;
  readonly budget: string;
  readonly maxSteps: string;
  readonly maxWorkers: string;
  readonly batchSize: string;
  readonly timeout: string;
  readonly approve: string;
  readonly check: string;
  readonly strict: boolean;
  /** What is sent besides the fields: options of an earlier run that the form has no fields for. */
  readonly rest: Partial<Submission>;
}

export const EMPTY: Draft = {
  request: "",
  flow: "work-order",
  options: {},
  stages: [],
  model: "",
  offline: false,
  budget: "",
  maxSteps: "",
  maxWorkers: "",
  batchSize: "",
  timeout: "",
  approve: "",
  check: "",
  strict: false,
  rest: {},
};

export const draft = saved<Draft>("draft", EMPTY);

/**
 * Return the request body for a draft and the options that were read from it: only the fields that are set, as the
 * service has the defaults.
 */
export function submissionOf(draft: Draft, options: JsonObject = {}): Submission {
  const limits = Object.fromEntries(
    ([
      ["budget", draft.budget],
      ["max_steps", draft.maxSteps],
      ["max_workers", draft.maxWorkers],
      ["batch_size", draft.batchSize],
      ["timeout", draft.timeout],
    ] as const).filter(([, value]) => value.trim() !== "")
      .map(([name, value]) => [name, Number(value)]),
  );
  const { limits: otherLimits, options: otherOptions, ...rest } = draft.rest;
  const [allLimits, allOptions] = [{ ...otherLimits, ...limits }, { ...otherOptions, ...options }];
  return {
    ...rest,
    request: draft.request.trim(),
    flow: draft.flow,
    ...(draft.model.trim() && !draft.offline && { model: draft.model.trim() }),
    ...(draft.offline && { offline: true }),
    ...(draft.approve && { approve: draft.approve as Submission["approve"] }),
    ...(draft.check && { check: draft.check as Submission["check"] }),
    ...(draft.strict && { strict: true }),
    ...(Object.keys(allLimits).length > 0 && { limits: allLimits }),
    ...(Object.keys(allOptions).length > 0 && { options: allOptions }),
  };
}

let last = { content: "", key: "" };

/**
 * Return the idempotency key of a request body: the same for the same content until the run has started, so that a
 * double click, or a retry after a lost response, starts one run.
 */
export function idempotencyKey(body: object): string {
  const content = JSON.stringify(body);
  if (last.content !== content) last = { content, key: randomKey() };
  return last.key;
}

/** Forget the key of a run that has started: the same content starts another run. */
export function forgetKey(): void {
  last = { content: "", key: "" };
}

/** 128 random bits in hex: `crypto.randomUUID` is missing where a page is served over plain HTTP. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
