// What a run has spent and what its open model calls may still cost: the reckoning of the service, event by event.

import type { Amount, Usage } from "./entry.ts";

export interface Spend {
  requests: number;
  tokens: number;
  inputTokens: number;
  outputTokens: number;
  nanousd: number;
  /** Some call's price is not known: what is shown is the least it can be. */
  unpriced: boolean;
  /** The ceiling in nano-dollars; null for none. */
  budget: number | null;
  /** Nano-dollars set aside for calls that are under way. */
  held: number;
  reserved: Map<string, Map<string, Amount>>;
}

export function emptySpend(): Spend {
  return {
    requests: 0,
    tokens: 0,
    inputTokens: 0,
    outputTokens: 0,
    nanousd: 0,
    unpriced: false,
    budget: null,
    held: 0,
    reserved: new Map(),
  };
}

export function reserve(
  spend: Spend,
  attempt: string,
  callId: string,
  amount: Amount | undefined,
): void {
  const calls = spend.reserved.get(attempt) ?? new Map<string, Amount>();
  const reserved = amount ?? { requests: 0, tokens: 0, nanousd: 0 };
  spend.held += reserved.nanousd - (calls.get(callId)?.nanousd ?? 0);
  calls.set(callId, reserved);
  spend.reserved.set(attempt, calls);
}

/** A call came back: its usage settles what was reserved; unknown usage settles it in full. */
export function settleCall(
  spend: Spend,
  attempt: string,
  callId: string,
  usage: Usage | null | undefined,
): void {
  const calls = spend.reserved.get(attempt);
  const reserved = calls?.get(callId);
  if (!calls || !reserved) return;
  calls.delete(callId);
  if (calls.size === 0) spend.reserved.delete(attempt);
  spend.held -= reserved.nanousd;
  if (!usage) return add(spend, reserved);
  const tokens = usage.input_tokens + usage.output_tokens;
  add(spend, { requests: usage.requests, tokens, nanousd: usage.nanousd ?? reserved.nanousd });
  spend.inputTokens += usage.input_tokens;
  spend.outputTokens += usage.output_tokens;
  if (usage.nanousd === null) spend.unpriced = true;
}

/** An attempt is over: nobody will say any more what its open calls used, so they count in full. */
export function settleAttempt(spend: Spend, attempt: string): void {
  for (const reserved of spend.reserved.get(attempt)?.values() ?? []) {
    spend.held -= reserved.nanousd;
    add(spend, reserved);
  }
  spend.reserved.delete(attempt);
}

function add(spend: Spend, amount: Amount): void {
  spend.requests += amount.requests;
  spend.tokens += amount.tokens;
  spend.nanousd += amount.nanousd;
}
