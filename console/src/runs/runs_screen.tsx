// Runs. (Being written.)

import { useTitle } from "../ui/title.ts";

export function RunsScreen() {
  useTitle("Runs");
  return <h1>Runs</h1>;
}
