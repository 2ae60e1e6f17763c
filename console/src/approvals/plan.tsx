// The plan of a run that waits for approval: every subtask of a work order, or every section of a report.

import { exact } from "../formats.ts";

interface Subtask {
  readonly name?: string;
  readonly tool?: string;
  readonly worker?: string;
  readonly args?: { readonly [name: string]: unknown };
  readonly needs?: readonly string[];
}

interface Shown {
  readonly goal?: string;
  readonly title?: string;
  readonly subtasks?: readonly Subtask[];
  readonly sections?: readonly { readonly heading?: string; readonly question?: string }[];
  readonly cannot?: readonly { readonly what?: string; readonly reason?: string }[];
}

export function Plan({ plan }: { plan: { readonly [name: string]: unknown } }) {
  const shown = plan as Shown;
  return (
    <section class="preview" aria-label="Plan">
      <p dir="auto">{exact(shown.goal || shown.title || "")}</p>
      <ol>
        {shown.subtasks?.map((each, index) => (
          <li key={index}>
            <span dir="auto">{exact(each.name ?? "")}</span>
            {each.tool && <code>{` ${each.tool}(${exact(written(each.args))})`}</code>}
            {each.worker && ` by ${exact(each.worker)}`}
            {each.needs && each.needs.length > 0 && (
              <span class="muted">{` after ${each.needs.map(place).join(", ")}`}</span>
            )}
          </li>
        ))}
        {shown.sections?.map((each, index) => (
          <li key={index} dir="auto">{exact(`${each.heading ?? ""}: ${each.question ?? ""}`)}</li>
        ))}
      </ol>
      {shown.cannot?.map((each, index) => (
        <p key={index} class="muted" dir="auto">
          Not possible: {exact(each.what ?? "")} ({exact(each.reason ?? "")})
        </p>
      ))}
    </section>
  );
}

function written(args: Subtask["args"]): string {
  return Object.entries(args ?? {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(
    ", ",
  );
}

/** Return a need as people count: the place of a subtask in the list. */
function place(key: string): string {
  const index = Number(key.split(".").at(-1));
  return Number.isInteger(index) ? String(index + 1) : key;
}
