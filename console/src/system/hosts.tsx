// The processes that share the database: what each carries out, and the queue that they take work from.

import { get } from "../api.ts";
import { count, duration } from "../formats.ts";
import { Fact } from "../ui/fact.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Age } from "../ui/time.tsx";
import type { HostLine, QueueInfo } from "../wire.ts";

export function Hosts({ hosts }: { hosts: readonly HostLine[] }) {
  const shared = hosts.some((host) => host.kind);
  return (
    <section class="panel system-part" aria-labelledby="hosts-title">
      <h2 id="hosts-title">Hosts</h2>
      {hosts.length === 0
        ? <p class="muted">No hosts.</p>
        : (
          <div class="table-scroll" tabIndex={0} role="group" aria-label="Hosts">
            <table>
              <thead>
                <tr>
                  <th scope="col">Host</th>
                  {shared && (
                    <>
                      <th scope="col">Kind</th>
                      <th scope="col">Started</th>
                      <th scope="col" class="number">Attempts</th>
                    </>
                  )}
                  <th scope="col">Runs</th>
                </tr>
              </thead>
              <tbody>
                {hosts.map((host) => <HostRow key={host.host} host={host} shared={shared} />)}
              </tbody>
            </table>
          </div>
        )}
      {shared && <QueueOf />}
    </section>
  );
}

function HostRow({ host, shared }: { host: HostLine; shared: boolean }) {
  const { running, concurrency } = host;
  return (
    <tr>
      <td>
        <code>{host.host}</code> {host.here && <span class="muted">this service</span>}{" "}
        {host.draining && <span class="badge" title="It takes no new work">draining</span>}
      </td>
      {shared && (
        <>
          <td>{host.kind}</td>
          <td>{host.since && <Age at={host.since} word="ago" />}</td>
          <td class="number">
            {concurrency > 0 &&
              `${running.toLocaleString("en")} of ${concurrency.toLocaleString("en")}`}
          </td>
        </>
      )}
      <td class="host-runs">
        <RunLinks runs={host.runs} />
      </td>
    </tr>
  );
}

function RunLinks({ runs }: { runs: readonly string[] }) {
  if (runs.length === 0) return <span class="muted">None</span>;
  return <>{runs.map((run) => <a key={run} href={`/runs/${run}`}>{run}</a>)}</>;
}

function QueueOf() {
  const { value, problem } = useLoaded((options) => get("/api/hosts", {}, options), {
    key: "hosts",
    live: true,
  });
  return (
    <>
      <h3>Queue</h3>
      <ProblemNote problem={problem} />
      {value && <QueueFacts queue={value.queue} />}
    </>
  );
}

function QueueFacts(
  { queue: { depth, oldest_s: oldest, steps, waiting } }: { queue: QueueInfo },
) {
  return (
    <>
      <dl class="facts">
        <Fact name="Waiting">
          {depth === 0
            ? "Nothing"
            : `${count(depth, "job")}, ${count(steps, "attempt")}, the oldest for ${
              duration(oldest)
            }`}
        </Fact>
      </dl>
      {waiting.length > 0 && <WaitingRuns waiting={waiting} />}
    </>
  );
}

export function WaitingRuns({ waiting }: { waiting: QueueInfo["waiting"] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label="Waiting runs">
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">Position</th>
            <th scope="col">Run</th>
            <th scope="col" class="number">Priority</th>
            <th scope="col">Started</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {waiting.map((run) => (
            <tr key={run.run_id}>
              <td class="number">{run.position.toLocaleString("en")}</td>
              <td class="host-runs">
                <RunLinks runs={[run.run_id]} />
              </td>
              <td class="number">{run.priority}</td>
              <td>
                <Age at={run.since} word="ago" />
              </td>
              <td>{run.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
