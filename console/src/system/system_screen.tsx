// System: the service, its health checks, and how to fix what fails.

import { get } from "../api.ts";
import { Hosts } from "./hosts.tsx";
import type { CheckLine, SystemDocument } from "../wire.ts";
import { bytes, count, duration } from "../formats.ts";
import { Fact } from "../ui/fact.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { StatusMark } from "../ui/status.tsx";
import { Age } from "../ui/time.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";

export function SystemScreen() {
  useTitle("System");
  const { value, problem } = useLoaded((options) => get("/api/system", {}, options), {
    key: "system",
    live: true,
  });
  return (
    <div class="system">
      <h1>System</h1>
      <ProblemNote problem={problem} />
      {value === null ? !problem && <Waiting what="the state of the system" /> : (
        <>
          <Checks checks={value.checks} />
          <div class="system-two">
            <Service system={value} />
            <Database system={value} />
          </div>
          <Hosts hosts={value.hosts} />
        </>
      )}
    </div>
  );
}

function Checks({ checks }: { checks: readonly CheckLine[] }) {
  const bad = checks.filter((check) => !check.ok).length;
  return (
    <section class="panel system-part" aria-labelledby="checks-title">
      <h2 id="checks-title">
        {bad === 0 ? "All checks passed" : `${count(bad, "check")} failed`}
      </h2>
      <ul class="list checks">
        {[...checks].sort((one, other) => Number(one.ok) - Number(other.ok)).map((check) => (
          <li key={check.name}>
            <span class={`status ${check.ok ? "tone-good" : "tone-asks"}`}>
              <span aria-hidden="true" class="glyph">{check.ok ? "✓" : "▲"}</span>
              <span class="unseen">{check.ok ? "passed: " : "failed: "}</span>
              {check.name}
            </span>
            <div>
              <p>{check.what}</p>
              {!check.ok && check.how && <p class="muted">{check.how}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Service({ system }: { system: SystemDocument }) {
  return (
    <section class="panel system-part" aria-labelledby="service-title">
      <h2 id="service-title">Service</h2>
      <dl class="facts">
        <Fact name="Leadhand">{system.version}</Fact>
        <Fact name="Python">{system.python}</Fact>
        <Fact name="Platform">{system.platform}</Fact>
        <Fact name="Started">
          <Age at={system.started_at} word="ago" />
        </Fact>
        <Fact name="Model">
          <code>{system.model.name}</code> <span class="muted">{system.model.why}</span>
        </Fact>
        <Fact name="Active runs">{system.driving.toLocaleString("en")}</Fact>
        <Fact name="Open streams">{system.streams.toLocaleString("en")}</Fact>
        <Fact name="API">
          <a href="/openapi.json">/openapi.json</a>, <a href="/metrics">/metrics</a>
        </Fact>
      </dl>
    </section>
  );
}

const DAY_S = 86_400;

/** Return which finished runs are kept, in words. */
function kept({ keep_for_s, keep_runs, expired, deleted }: SystemDocument["retention"]): string {
  const limits = [
    ...(keep_for_s === null
      ? []
      : [keep_for_s % DAY_S ? duration(keep_for_s) : count(keep_for_s / DAY_S, "day")]),
    ...(keep_runs === null ? [] : [`at most ${count(keep_runs, "finished run")}`]),
  ];
  if (limits.length === 0) return "All runs are kept";
  const done = `${count(deleted, "run")} deleted${
    expired ? `, ${expired.toLocaleString("en")} to delete` : ""
  }`;
  return `${limits.join(", ")} (${done})`;
}

function Database({ system }: { system: SystemDocument }) {
  const { database } = system;
  return (
    <section class="panel system-part" aria-labelledby="database-title">
      <h2 id="database-title">Database</h2>
      <dl class="facts">
        <Fact name="Location">
          <code>{database.name}</code>
        </Fact>
        <Fact name="Type">{database.kind === "sqlite" ? "SQLite" : "PostgreSQL"}</Fact>
        <Fact name="Schema">version {database.schema}</Fact>
        {database.bytes !== null && <Fact name="Size">{bytes(database.bytes)}</Fact>}
        <Fact name="Retention">{kept(system.retention)}</Fact>
        <Fact name="Runs">
          <ul class="system-runs">
            {Object.entries(database.runs).map(([status, number]) => (
              <li key={status}>
                <a href={`/runs?status=${status}`}>
                  <StatusMark status={status} /> {number.toLocaleString("en")}
                </a>
              </li>
            ))}
          </ul>
        </Fact>
      </dl>
    </section>
  );
}
