// The header: screens, open approvals, the connection, and who is logged in.

import { link, reachable } from "../connection.ts";
import { partsOf, place } from "../router.ts";
import { session } from "../session.ts";
import { logOut } from "../api.ts";
import { Button, useAction } from "../ui/button.tsx";
import { count } from "../formats.ts";
import { useOpenApprovals } from "./open_approvals.ts";

const SCREENS = [["runs", "Runs"], ["approvals", "Approvals"], ["tools", "Tools"], [
  "system",
  "System",
]] as const;

export function Header({ onHelp }: { onHelp: () => void }) {
  const [here] = partsOf(place.value.path);
  const known = session.value;
  const inside = known !== null && (known.authenticated || !known.needed);
  return (
    <header class="header">
      <a class="brand" href="/runs">
        <Mark /> Leadhand
      </a>
      {inside && (
        <nav aria-label="Screens">
          {SCREENS.map(([name, label]) => (
            <a
              key={name}
              href={`/${name}`}
              aria-current={here === name ? "page" : undefined}
            >
              {label}
              {name === "approvals" && <OpenApprovals />}
            </a>
          ))}
        </nav>
      )}
      <div class="header-end">
        <Connection />
        {inside && known.needed && <Person name={known.name} />}
        <Button
          kind="quiet"
          small
          label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={onHelp}
        >
          ?
        </Button>
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
      <path d="M3 2v12h10" />
      <path d="M8 4h5M8 9h5" class="hands" />
    </svg>
  );
}

function OpenApprovals() {
  const open = useOpenApprovals();
  if (!open) return null;
  return (
    <span class="count" title={count(open, "open approval")}>
      {open}
      <span class="unseen">open {open === 1 ? "approval" : "approvals"}</span>
    </span>
  );
}

function Connection() {
  const [glyph, tone, words] = !reachable.value
    ? ["◌", "asks", "Reconnecting"] as const
    : link.value === "live"
    ? ["●", "good", "Live"] as const
    : link.value === "reconnecting"
    ? ["◌", "asks", "Reconnecting"] as const
    : link.value === "paused"
    ? ["‖", "idle", "Paused"] as const
    : link.value === "ended"
    ? ["■", "idle", "Ended"] as const
    : ["●", "good", "Connected"] as const;
  return (
    <span class={`chip tone-${tone}`} role="status">
      <span aria-hidden="true" class="glyph">{glyph}</span>
      <span class="chip-words">{words}</span>
    </span>
  );
}

function Person({ name }: { name: string | null }) {
  const leaving = useAction(async () => {
    await logOut();
    const known = session.value;
    if (known) session.value = { ...known, authenticated: false, name: null, scopes: [] };
  });
  return (
    <>
      {name && <span class="person">{name}</span>}
      <Button
        kind="quiet"
        small
        busy={leaving.busy}
        title={leaving.problem?.what}
        onClick={leaving.run}
      >
        Log out
      </Button>
    </>
  );
}
