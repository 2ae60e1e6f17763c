// Details that are drawn only while they are open.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

interface FoldProps {
  readonly summary: ComponentChildren;
  /** Open them when this becomes true. */
  readonly opened?: boolean;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Fold({ summary, opened = false, children, ...details }: FoldProps) {
  const [open, setOpen] = useState(opened);
  useEffect(() => {
    if (opened) setOpen(true);
  }, [opened]);
  return (
    <details {...details} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children}
    </details>
  );
}
