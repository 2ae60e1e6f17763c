// One run, live. (Being written.)

import { useTitle } from "../ui/title.ts";

export function RunScreen({ runId }: { runId: string }) {
  useTitle(runId);
  return <h1>{runId}</h1>;
}
