// Approvals. (Being written.)

import { useTitle } from "../ui/title.ts";

export function ApprovalsScreen() {
  useTitle("Approvals");
  return <h1>Approvals</h1>;
}
