// The shell: header, the screen that the URL names, help and the live region.

import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reachable } from "../connection.ts";
import { useShortcuts } from "../keys.ts";
import { LoginScreen } from "../login/login_screen.tsx";
import { go, partsOf, place } from "../router.ts";
import { ApprovalsScreen } from "../approvals/approvals_screen.tsx";
import { RunScreen } from "../run/run_screen.tsx";
import { RunsScreen } from "../runs/runs_screen.tsx";
import { session } from "../session.ts";
import { Announcer } from "../ui/announce.tsx";
import { lazy } from "../ui/lazy.tsx";
import { Waiting } from "../ui/waiting.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { NotFound } from "./not_found.tsx";

const ToolsScreen = lazy("ToolsScreen");
const WorkersScreen = lazy("WorkersScreen");

/** The screens that have no further path. */
const SCREENS: { readonly [path: string]: FunctionComponent } = {
  runs: RunsScreen,
  approvals: ApprovalsScreen,
  workers: WorkersScreen,
};

const helpOpen = signal(false);

export function App() {
  useShortcuts("Everywhere", {
    "g r": { label: "Go to runs", action: () => go("/runs") },
    "g a": { label: "Go to approvals", action: () => go("/approvals") },
    "g w": { label: "Go to workers", action: () => go("/workers") },
    "g t": { label: "Go to tools", action: () => go("/tools") },
    "?": { label: "Show keyboard shortcuts", action: () => helpOpen.value = true },
  });
  useFocusOnNavigation();
  const current = session.value;
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <Header onHelp={() => helpOpen.value = true} />
      {current !== null && !reachable.value && (
        <p class="offline" role="alert">
          <span aria-hidden="true">▲</span>{" "}
          The service does not answer. What is shown may be out of date. Trying again…
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {current === null
          ? ( // as wide as the screen that follows, so that nothing moves
            <div class={/^\/runs\/./.test(place.value.path) ? "run-screen" : undefined}>
              <Waiting what="the session" />
            </div>
          )
          : current.needed && !current.authenticated
          ? <LoginScreen />
          : <Screen />}
      </main>
      {helpOpen.value && <Help onClose={() => helpOpen.value = false} />}
      <Announcer />
    </>
  );
}

/** Move the focus to a new screen: the focused element may be gone with the old one. */
function useFocusOnNavigation(): void {
  const { path } = place.value;
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [path]);
}

function Screen() {
  const { path } = place.value;
  const [first, second, ...rest] = partsOf(path);
  const home = first === undefined;
  useEffect(() => {
    if (home) go("/runs", { replace: true });
  }, [home]);
  if (home) return null;
  if (first === "runs" && second !== undefined && rest.length === 0) {
    return <RunScreen key={second} runId={second} />;
  }
  if (first === "tools" && rest.length === 0) return <ToolsScreen name={second ?? null} />;
  const Named = second === undefined ? SCREENS[first!] : undefined;
  return Named ? <Named /> : <NotFound />;
}
