// The state of the connection: whether the service answers, and whether the open run's events arrive.

import { signal } from "@preact/signals";

/** `live`: events come as they happen. `paused`: the tab is hidden. `ended`: the run is over, all was sent. */
export type LinkState = "connecting" | "live" | "reconnecting" | "paused" | "ended";

/** False from the first call that got no answer to the next that does. */
export const reachable = signal(true);

/** The state of the open run's stream; null while no run is open. */
export const link = signal<LinkState | null>(null);
