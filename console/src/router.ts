// Where we are: the URL is the state. A history router with a signal for the place and links that need no component.

import { computed, signal } from "@preact/signals";

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const here = signal(read());

/** The path and the query as they stand in the address bar. */
export const place = computed(() => here.value);

function read(): Place {
  return typeof location === "undefined" // under test
    ? { path: "/", query: new URLSearchParams() }
    : { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to a path (with a query, if it has one); `replace` leaves no way back to the present one. */
export function go(to: string, { replace = false } = {}): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  const turned = url.pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url.pathname + url.search + url.hash);
  here.value = read();
  if (turned) scrollTo(0, 0);
}

/** A path with some of its query changed: null and "" take a name out. */
export function queryChanged(
  { path, query }: Place,
  changes: { readonly [name: string]: string | number | null },
): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") changed.delete(name);
    else changed.set(name, String(value));
  }
  const written = changed.toString();
  return written ? `${path}?${written}` : path;
}

/** Where we are, with some of the query changed: for links. */
export function withQuery(changes: Record<string, string | number | null>): string {
  return queryChanged(here.value, changes);
}

/** Changes some of the query where we are. */
export function setQuery(
  changes: Record<string, string | number | null>,
  { replace = true } = {},
): void {
  go(withQuery(changes), { replace });
}

/** The decoded parts of a path: `/runs/run_1` is `["runs", "run_1"]`. */
export function partsOf(path: string): readonly string[] {
  return path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part; // a lone "%" that somebody typed
    }
  });
}

/** Makes plain links of this page move without loading it anew, and the browser's back and forward work. */
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
    if (!isScreen(anchor.pathname) || anchor.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    go(anchor.href);
  });
}

const SCREENS = new Set(["runs", "approvals", "tools", "system"]);

/** Whether a path is one of ours to draw, not a page of the service's. */
export function isScreen(path: string): boolean {
  const [first] = partsOf(path);
  return first === undefined || SCREENS.has(first);
}
