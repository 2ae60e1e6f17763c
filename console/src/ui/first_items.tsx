// The first items of a long list, and a button that shows the rest.

import { useState } from "preact/hooks";
import { Button } from "./button.tsx";

const FIRST = 50;

/** Return the items to show, and the button below them. `name` follows the number: "Show all 200 sources". */
export function useFirstItems<T>(items: readonly T[], name: string) {
  const [all, setAll] = useState(false);
  if (all || items.length <= FIRST) return [items, null] as const;
  const label = `Show all ${items.length.toLocaleString("en")} ${name}`;
  const button = <Button small onClick={() => setAll(true)}>{label}</Button>;
  return [items.slice(0, FIRST), button] as const;
}
