// The header: screens, open approvals, the connection, and who is logged in.

import { link, type LinkState, reachable } from "../connection.ts";
import { partsOf, place } from "../router.ts";
import { endSession, session } from "../session.ts";
import { call } from "../api.ts";
import { Button, useAction } from "../ui/button.tsx";
import { capitalized } from "../formats.ts";
import { useOpenApprovals } from "./open_approvals.ts";

const SCREENS = ["runs", "approvals", "workers", "tools"] as const;

export function Header({ onHelp }: { onHelp: () => void }) {
  const [here] = partsOf(place.value.path);
  const current = session.value;
  const inside = current !== null && (current.authenticated || !current.needed);
  return (
    <header class="header">
      <a class="brand" href="/runs">
        <Mark /> Leadhand
      </a>
      {inside && (
        <nav aria-label="Screens">
          {SCREENS.map((name) => (
            <a
              key={name}
              href={`/${name}`}
              aria-current={here === name ? "page" : undefined}
            >
              {capitalized(name)}
              {name === "approvals" && <OpenApprovals />}
            </a>
          ))}
        </nav>
      )}
      <div class="header-end">
        <Connection />
        {inside && current.needed && <Person name={current.name} />}
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
    <span class="count" title={`${open} waiting for you`}>
      {open}
      <span class="unseen">waiting for you</span>
    </span>
  );
}

const LINKS: Record<
  LinkState | "connected",
  readonly [glyph: string, tone: string, words: string]
> = {
  connected: ["●", "good", "Connected"],
  live: ["●", "good", "Live"],
  connecting: ["◌", "idle", "Connecting"],
  reconnecting: ["◌", "asks", "Reconnecting"],
  paused: ["‖", "idle", "Paused"],
  ended: ["■", "idle", "Ended"],
};

function Connection() {
  const [glyph, tone, words] = LINKS[reachable.value ? link.value ?? "connected" : "reconnecting"];
  return (
    <span class={`chip tone-${tone}`} role="status">
      <span aria-hidden="true" class="glyph">{glyph}</span>
      <span class="chip-words">{words}</span>
    </span>
  );
}

function Person({ name }: { name: string | null }) {
  const leaving = useAction(async () => {
    await call("delete", "/api/session", {});
    endSession();
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
