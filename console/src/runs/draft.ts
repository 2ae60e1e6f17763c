// The draft of a run: it outlives the screen, and the same content starts one run.

import { limitParameters, settingParameters } from "../form/limits.ts";
import { argumentsFrom, type Parameter, parametersOf, type Typed } from "../form/schema.ts";
import type { Schema } from "../json.ts";
import { saved } from "../saved.ts";
import type { FlowDocument, Submission } from "../wire.ts";
import { stageOf } from "./stages.tsx";

/** The fields of the form as typed; "" for an empty field. */
export interface Draft {
  readonly request: string;
  readonly flow: string;
  /** The options of the flow, by name. */
  readonly options: Typed;
  /** The stages that are added to a report. */
  readonly stages: readonly Typed[];
  readonly model: string;
  readonly offline: boolean;
  /** The limits, by name. */
  readonly limits: Typed;
  /** The settings, by name. */
  readonly settings: Typed;
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
  limits: {},
  settings: {},
  rest: {},
};

export const draft = saved<Draft>("draft", EMPTY);

/** Return the options of a flow that have a field of their own; those of a report's stages have a form. */
export function parametersOfFlow(flow: FlowDocument | undefined): readonly Parameter[] {
  const parameters = flow === undefined ? [] : parametersOf(flow.options as Schema);
  return flow?.name === "report" ? parameters.filter(({ name }) => name !== "agents") : parameters;
}

/**
 * Return the request body for a draft, and what cannot be read, by "options." or "limits." and the name of the field.
 * The body has only the fields that are set, as the service has the defaults.
 */
export function submissionOf(
  draft: Draft,
  flow?: FlowDocument,
): { readonly run: Submission; readonly errors: Typed } {
  const given = argumentsFrom(parametersOfFlow(flow), draft.options, "options.");
  const limits = argumentsFrom(limitParameters, draft.limits, "limits.");
  const settings = argumentsFrom(settingParameters, draft.settings);
  const { stages } = draft;
  const options = {
    ...draft.rest.options,
    ...given.args,
    ...(flow?.name === "report" && stages.length > 0 && {
      agents: stages.map((stage) => stageOf(stage, flow)),
    }),
  };
  const run = {
    ...draft.rest,
    ...settings.args,
    request: draft.request.trim(),
    flow: draft.flow,
    ...(draft.model.trim() && !draft.offline && { model: draft.model.trim() }),
    ...(draft.offline && { offline: true }),
    ...(Object.keys(limits.args).length > 0 && { limits: limits.args }),
    ...(Object.keys(options).length > 0 && { options }),
  };
  return { run, errors: { ...given.errors, ...limits.errors, ...settings.errors } };
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
