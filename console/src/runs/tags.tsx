// The tags of a run, as links to the runs that have them.

import { partsOf, place, queryChanged } from "../router.ts";
import type { RunLine } from "../wire.ts";
import { tagsIn } from "./filter.ts";

/** The tags of a run; each narrows the list to runs that have it, too. */
export function Tags({ tags }: { tags: RunLine["tags"] }) {
  const given = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  const { path, query } = place.value;
  // In the list, a tag narrows what is shown; elsewhere it leads to the list.
  const now = partsOf(path).length === 1 ? query : new URLSearchParams();
  const shown = tagsIn(now);
  return (
    <>
      {given.map((tag) => (
        <a
          key={tag}
          class="badge tag"
          href={queryChanged({ path: "/runs", query: now }, {
            tag: [...shown.filter((each) => each !== tag), tag].join("\n"),
          })}
        >
          {tag}
        </a>
      ))}
    </>
  );
}
