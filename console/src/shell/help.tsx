// The keyboard shortcuts of the current screen.

import { activeLayers } from "../keys.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {activeLayers().map(({ title, shortcuts }) => (
        <section key={title} class="help">
          <h3>{title}</h3>
          <dl class="keys">
            {Object.entries(shortcuts).map(([key, { label }]) => (
              <div key={key}>
                <dt>
                  {key.split(" ").map((part) => (
                    <kbd key={part}>{part === "Escape" ? "Esc" : part}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
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
