// Use the types that openapi-typescript makes of a server's document: start a run, wait, approve, read the answer.
// Then read its events with the package eventsource, coming back all the time. Prints what came, as JSON.

import { EventSource } from "eventsource";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const process: { argv: string[] };

const url = process.argv[2] ?? "";
const api = createClient<paths>({ baseUrl: url });

function got<T>(answered: { data?: T; error?: components["schemas"]["ProblemDetails"] }): T {
  if (answered.data === undefined) throw new Error(answered.error?.detail ?? "no data");
  return answered.data;
}

let run = got(
  await api.POST("/api/runs", {
    body: {
      request: "What is the weather in Paris, Lyon, Nice, Rome, Oslo, Bern and Vienna tomorrow?",
      approve: { "tool:weather_tool": "ask" },
    },
    params: { query: { wait: 60 } },
  }),
);
const path = { run_id: run.run_id };
while (run.status === "running" || run.status === "waiting") {
  for (const { approval_id } of run.approvals) {
    got(
      await api.POST("/api/approvals/{approval_id}", {
        params: { path: { approval_id } },
        body: { decision: "approve" },
      }),
    );
  }
  run = got(await api.GET("/api/runs/{run_id}", { params: { path, query: { wait: 60 } } }));
}
const { answer, status } = got(await api.GET("/api/runs/{run_id}/answer", { params: { path } }));
const page = got(await api.GET("/api/runs/{run_id}/events", { params: { path, query: { limit: 1000 } } }));
const finished = page.events.find((event) => event.type === "run_finished");

const step = Math.max(1, Math.floor(run.last_seq / 80));
const ids: number[] = [];
let connections = 0;

/** The next few messages of the stream. */
function read(): Promise<void> {
  connections += 1;
  let left = step;
  return new Promise((resolve) => {
    const headers = ids.length > 0 ? { "Last-Event-ID": `${ids[ids.length - 1]}` } : undefined;
    const source = new EventSource(`${url}/api/runs/${run.run_id}/events/stream`, {
      fetch: (address, init) => fetch(address, { ...init, headers: { ...init.headers, ...headers } }),
    });
    source.onmessage = (message) => {
      if (left === 0) return;
      ids.push(Number(message.lastEventId));
      if (JSON.parse(message.data as string).seq !== ids[ids.length - 1]) throw new Error(message.data as string);
      left -= 1;
      if (left === 0 || ids.length === run.last_seq) {
        source.close();
        resolve();
      }
    };
  });
}

while (ids.length < run.last_seq) await read();
const ended = finished?.type === "run_finished" ? finished.status : null;
console.log(JSON.stringify({ answer, status, ended, last_seq: run.last_seq, ids, connections }));
