// The place in the console. The URL is the state: a history router with a signal, for which plain links work.

import { computed, signal } from "@preact/signals";

interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const here = signal(read());

/** The path and the query in the address bar. */
export const place = computed(() => here.value);

function read(): Place {
  return typeof location === "undefined" // under test
    ? { path: "/", query: new URLSearchParams() }
    : { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Go to a path with its query; `replace` replaces the current entry of the history. */
export function go(to: string, { replace = false } = {}): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  const leaves = url.pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url.pathname + url.search + url.hash);
  here.value = read();
  if (leaves) scrollTo(0, 0);
}

/** Return a path with some of its query changed: null and "" remove a name. */
export function queryChanged(
  { path, query }: Place,
  changes: { readonly [name: string]: string | number | null },
): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") changed.delete(name);
    else changed.set(name, String(value));
  }
  return changed.size > 0 ? `${path}?${changed}` : path;
}

/** Return the current place with some of the query changed: for links. */
export function withQuery(changes: Record<string, string | number | null>): string {
  return queryChanged(here.value, changes);
}

/** Change some of the query of the current place. */
export function setQuery(
  changes: Record<string, string | number | null>,
  { replace = true } = {},
): void {
  go(withQuery(changes), { replace });
}

/** Return the decoded parts of a path: `/runs/run_1` is `["runs", "run_1"]`. */
export function partsOf(path: string): readonly string[] {
  return path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part; // a lone "%"
    }
  });
}

/** Make plain links, back and forward change the screen without loading the page again. */
export function startRouter(): void {
  addEventListener("popstate", () => {
    here.value = read();
  });
  document.addEventListener("click", (event) => {
    const anchor = (event.target as Element | null)?.closest?.("a");
    if (!anchor || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) {
      return;
    }
    if (!isScreen(anchor.pathname) || anchor.getAttribute("href")?.startsWith("#")) {
      return;
    }
    event.preventDefault();
    go(anchor.href);
  });
}

const SCREENS = new Set(["runs", "approvals", "workers", "tools"]);

/** Return whether a path is a screen of the console, not a page of the service. */
export function isScreen(path: string): boolean {
  const [first] = partsOf(path);
  return first === undefined || SCREENS.has(first);
}
