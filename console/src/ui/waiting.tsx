// Shown instead of something that is not loaded yet.

import { reachable } from "../connection.ts";

/** `what` is what is loaded: "the runs". */
export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" role="status">
      {reachable.value ? `Loading ${what}…` : "The service does not answer. Trying again…"}
    </p>
  );
}
