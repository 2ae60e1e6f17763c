// The theme: that of the system, light, or dark. The browser remembers the choice.

import { effect } from "@preact/signals";
import { saved } from "../saved.ts";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";

const THEMES = [["system", "◐"], ["light", "☀"], ["dark", "☾"]] as const;

const chosen = saved<{ theme: string }>("theme", { theme: "system" }, "local");

export function startTheme(): void {
  effect(() => {
    const { theme } = chosen.value;
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
  });
}

export function ThemeButton() {
  const at = Math.max(0, THEMES.findIndex(([name]) => name === chosen.value.theme));
  const [name, glyph] = THEMES[at]!;
  const [next] = THEMES[(at + 1) % THEMES.length]!;
  return (
    <Button
      kind="quiet"
      small
      label={`Theme: ${name}`}
      title={`Theme: ${name}. Switch to ${next}`}
      onClick={() => {
        chosen.value = { theme: next };
        announce(`Theme: ${next}`);
      }}
    >
      {glyph}
    </Button>
  );
}
