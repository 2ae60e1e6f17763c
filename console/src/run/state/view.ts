// The view of a run that the service sends, and the merge patches that change it.

import { isObject } from "../../json.ts";
import type { AttemptPart, EventDocument, StepPart, ViewDocument } from "../../wire.ts";

export type {
  AttemptPart as Attempt,
  CallPart as Call,
  FailurePart as Failure,
  OrderPart as Order,
  RunStatus,
  StepPart as Step,
  ViewDocument as View,
} from "../../wire.ts";

export type StepStatus = StepPart["status"];
export type Outcome = AttemptPart["outcome"];
export type Words = EventDocument["words"];
export type Args = { readonly [name: string]: unknown };

/** One event of the run as a row of the log shows it. */
export interface EventSummary {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly words: Words;
}

/** One event of the run, and what it changes in the view. */
export interface Change extends EventSummary {
  readonly patch: Patch;
}

/** A JSON merge patch (RFC 7396) of a view; null removes what it names. */
export interface Patch extends Unknown<Omit<ViewDocument, "steps">> {
  readonly steps?: { readonly [key: string]: Unknown<StepPart> | null };
}

/** Any of the fields of a type, with values that are not known. */
type Unknown<T> = { readonly [field in keyof T]?: unknown };

/** Return a value after a JSON merge patch; what the patch does not name is shared with the value. */
export function merged<T>(value: T, patch: unknown): T {
  if (!isObject(patch)) return patch as T;
  const found: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, part] of Object.entries(patch)) {
    if (key === "__proto__") continue; // a name that a model wrote must not change what the object is
    if (part === null) delete found[key];
    else found[key] = merged(found[key], part);
  }
  return found as T;
}

const OVER = new Set<string>(["succeeded", "partial", "failed", "cancelled"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

/** Return whether a step is still to be done. */
export function isOpen(status: StepStatus): boolean {
  return status === "pending" || status === "running" || status === "waiting" ||
    status === "retrying";
}

/** Return a moment as milliseconds; null for undefined. */
export function millis(moment: string | undefined): number | null {
  return moment === undefined ? null : Date.parse(moment);
}
