// Test that hosts which share a database show what they carry out.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import type { HostLine } from "../wire.ts";
import { Hosts, WaitingRuns } from "./hosts.tsx";

/** Return the headings of the columns. */
function columns(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(columns);
  if (!isValidElement(node)) return [];
  const { type, props } = node as VNode<{ children?: unknown }>;
  return type === "th" ? [String(props.children)] : columns(props.children);
}

const HOST: HostLine = {
  host: "a",
  here: true,
  runs: [],
  kind: null,
  since: null,
  concurrency: 0,
  running: 0,
  attempts: [],
  draining: false,
  flows: [],
  tools: [],
};

Deno.test("hosts that share a database show their kind and their attempts", () => {
  assert.deepEqual(columns(Hosts({ hosts: [HOST] })), ["Host", "Runs"]);
  const shared = {
    ...HOST,
    kind: "host" as const,
    concurrency: 8,
    attempts: ["run_1/wo-001.0/a1"],
  };
  assert.deepEqual(columns(Hosts({ hosts: [HOST, shared] })), [
    "Host",
    "Kind",
    "Started",
    "Attempts",
    "Runs",
  ]);
});

Deno.test("runs that wait for a host show their place and the reason", () => {
  const run = {
    run_id: "run_1",
    position: 1,
    priority: 3,
    since: "2026-11-23T07:00:00Z",
    reason: "waiting in the queue",
  };
  assert.deepEqual(columns(WaitingRuns({ waiting: [run] })), [
    "Position",
    "Run",
    "Priority",
    "Started",
    "Reason",
  ]);
});
