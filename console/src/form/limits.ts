// Settings and limits as they are typed, of runs that are started and of runs that go on.

import type { JsonObject } from "../json.ts";
import { LIMITS, NEW_LIMITS, type RunDocument, SETTINGS } from "../wire.ts";
import { argumentsFrom, type Parameter, parametersOf, type Typed } from "./schema.ts";

/** The settings of a run that have no control of their own. */
export const settingParameters: readonly Parameter[] = parametersOf(SETTINGS);

/** The limits that a run can be started with. */
export const limitParameters: readonly Parameter[] = parametersOf(LIMITS);

/** The limits that a run can be given when it goes on. */
export const newLimitParameters: readonly Parameter[] = parametersOf(NEW_LIMITS);

/** Return the limits that were typed: an empty field keeps its limit. */
export function typedLimits(typed: Typed): JsonObject {
  return argumentsFrom(newLimitParameters, typed).args;
}

/** Return the limits that are proposed for a run that ran out, as they would be typed. */
export function proposedLimits(run: Pick<RunDocument, "proposed_limits"> | null): Typed {
  return Object.fromEntries(
    Object.entries(run?.proposed_limits ?? {}).map(([name, value]) => [name, String(value)]),
  );
}
