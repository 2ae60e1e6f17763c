// System. (Being written.)

import { useTitle } from "../ui/title.ts";

export function SystemScreen() {
  useTitle("System");
  return <h1>System</h1>;
}
