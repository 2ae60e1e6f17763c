// The shell: header, the screen that the URL names, help and the live region.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { reachable } from "../connection.ts";
import { useShortcuts } from "../keys.ts";
import { LoginScreen } from "../login/login_screen.tsx";
import { go, partsOf, place } from "../router.ts";
import { AgentsScreen } from "../agents/agents_screen.tsx";
import { ApprovalsScreen } from "../approvals/approvals_screen.tsx";
import { RunScreen } from "../run/run_screen.tsx";
import { RunsScreen } from "../runs/runs_screen.tsx";
import { session } from "../session.ts";
import { SystemScreen } from "../system/system_screen.tsx";
import { ToolsScreen } from "../tools/tools_screen.tsx";
import { Announcer } from "../ui/announce.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { NotFound } from "./not_found.tsx";

const helpOpen = signal(false);

export function App() {
  useShortcuts("Everywhere", {
    "g r": { label: "Go to runs", action: () => go("/runs") },
    "g a": { label: "Go to approvals", action: () => go("/approvals") },
    "g e": { label: "Go to agents", action: () => go("/agents") },
    "g t": { label: "Go to tools", action: () => go("/tools") },
    "g s": { label: "Go to system", action: () => go("/system") },
    "?": { label: "Show keyboard shortcuts", action: () => helpOpen.value = true },
  });
  useFocusOnNavigation();
  const current = session.value;
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <Header onHelp={() => helpOpen.value = true} />
      <main id="main" tabIndex={-1}>
        {current === null
          ? <Connecting />
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
  if (rest.length > 0) return <NotFound />;
  switch (first) {
    case undefined:
      return null;
    case "runs":
      return second === undefined ? <RunsScreen /> : <RunScreen key={second} runId={second} />;
    case "approvals":
      return second === undefined ? <ApprovalsScreen /> : <NotFound />;
    case "agents":
      return second === undefined ? <AgentsScreen /> : <NotFound />;
    case "tools":
      return <ToolsScreen name={second ?? null} />;
    case "system":
      return second === undefined ? <SystemScreen /> : <NotFound />;
    default:
      return <NotFound />;
  }
}

function Connecting() {
  return (
    <p class="waiting" role="status">
      {reachable.value ? "Connecting…" : "The service does not answer. Trying again…"}
    </p>
  );
}
