// The shell: header, the screen that the URL names, help and the live region.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { reachable } from "../connection.ts";
import { useKeys } from "../keys.ts";
import { LoginScreen } from "../login/login_screen.tsx";
import { go, partsOf, place } from "../router.ts";
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

const helping = signal(false);

export function App() {
  useKeys("Everywhere", {
    "g r": { does: "Go to runs", act: () => go("/runs") },
    "g a": { does: "Go to approvals", act: () => go("/approvals") },
    "g t": { does: "Go to tools", act: () => go("/tools") },
    "g s": { does: "Go to system", act: () => go("/system") },
    "?": { does: "Show keyboard shortcuts", act: () => helping.value = true },
  });
  useFocusOnArrival();
  const known = session.value;
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <Header onHelp={() => helping.value = true} />
      <main id="main" tabIndex={-1}>
        {known === null
          ? <Waiting />
          : known.needed && !known.authenticated
          ? <LoginScreen />
          : <Screen />}
      </main>
      {helping.value && <Help onClose={() => helping.value = false} />}
      <Announcer />
    </>
  );
}

/** Move the focus to a new screen: the focused element may be gone with the old one. */
function useFocusOnArrival(): void {
  const { path } = place.value;
  const arrived = useRef(path);
  useEffect(() => {
    if (arrived.current === path) return;
    arrived.current = path;
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
    case "tools":
      return <ToolsScreen name={second ?? null} />;
    case "system":
      return second === undefined ? <SystemScreen /> : <NotFound />;
    default:
      return <NotFound />;
  }
}

function Waiting() {
  return (
    <p class="waiting" role="status">
      {reachable.value ? "Connecting…" : "The service does not answer. Trying again…"}
    </p>
  );
}
