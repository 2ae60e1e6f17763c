// Tools. (Being written.)

import { useTitle } from "../ui/title.ts";

export function ToolsScreen({ name }: { name: string | null }) {
  useTitle("Tools");
  return <h1>{name ?? "Tools"}</h1>;
}
