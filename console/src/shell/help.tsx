// The keyboard shortcuts of the current screen.

import { offered } from "../keys.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {offered().map(({ title, keys }) => (
        <section key={title} class="help">
          <h3>{title}</h3>
          <dl class="keys">
            {Object.entries(keys).map(([key, { does }]) => (
              <div key={key}>
                <dt>{key.split(" ").map((part) => <kbd key={part}>{shown(part)}</kbd>)}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <div class="buttons">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function shown(key: string): string {
  const names: { [key: string]: string } = {
    Escape: "Esc",
    ArrowDown: "↓",
    ArrowUp: "↑",
    " ": "Space",
  };
  return names[key] ?? key;
}
