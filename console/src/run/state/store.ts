// One run on the screen: its view, live text, its document, its open approvals and its event log.

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { get } from "../../api.ts";
import type { LinkState } from "../../connection.ts";
import { asProblem, Problem } from "../../problem.ts";
import type { ApprovalCard, RunDocument } from "../../wire.ts";
import { EventPages, PAGE_SIZE } from "../log/event_pages.ts";
import { type Delta, follow, type Handlers } from "./follow.ts";
import { RunView } from "./run_view.ts";
import { type Change, type EventSummary, isOver, type View } from "./view.ts";

/** The service and the browser; tests replace them. */
export interface Service {
  getView(runId: string): Promise<View>;
  getRun(runId: string): Promise<RunDocument>;
  getCards(runId: string): Promise<readonly ApprovalCard[]>;
  /** The page of events after a seq. */
  getEvents(runId: string, after: number): Promise<readonly EventSummary[]>;
  follow(runId: string, after: number, handlers: Handlers): () => void;
  /** Call back before the next frame is drawn, or soon while the tab is hidden. */
  frame(callback: () => void): void;
  later(ms: number, callback: () => void): void;
}

/** The parts of the run document that the screen shows. */
const PARTS = ["work_orders", "claims", "task"] as const;

export const BROWSER: Service = {
  getView: (run_id) => get("/api/runs/{run_id}/view", { run_id }),
  getRun: (run_id) => get("/api/runs/{run_id}", { run_id, include: [...PARTS] }),
  getCards: async (run_id) => (await get("/api/approvals", { run_id })).approvals,
  getEvents: async (run_id, after) => {
    const page = { run_id, after, limit: PAGE_SIZE, brief: true };
    return (await get("/api/runs/{run_id}/events", page)).events;
  },
  follow,
  frame: (callback) => {
    requestAnimationFrame(callback);
    setTimeout(callback, 250); // a hidden tab has no frames
  },
  later: (ms, callback) => void setTimeout(callback, ms),
};

/** The delay between an event that changes the document and the next fetch of the document. */
const REFRESH_MS = 500;
const RETRY_MS = 5_000;

export class RunStore {
  readonly runId: string;
  /** Names the run in calls. */
  readonly of: { readonly run_id: string };
  readonly log: EventPages;
  /** False until the view is there. */
  readonly loaded: Signal<boolean> = signal(false);
  /** The run document, with the answer; fetched again when the stream says that it changed. */
  readonly document: Signal<RunDocument | null> = signal(null);
  /** Why the run cannot be shown. */
  readonly problem: Signal<Problem | null> = signal(null);
  readonly cards: Signal<readonly ApprovalCard[]> = signal([]);
  /** The newest live text and the attempt that writes it. */
  readonly draft: Signal<{ attempt: string; text: string } | null> = signal(null);
  readonly link: Signal<LinkState | null> = signal(null);
  /** The status of the run: that of the document where it is newer than the view. */
  readonly status: ReadonlySignal<string> = computed(() => {
    const document = this.document.value;
    return document !== null && document.last_seq > this.view.seq.value
      ? document.status
      : this.view.run.value.status;
  });
  /** Set once it is loaded. */
  view!: RunView;

  #service: Service;
  #stop: (() => void) | null = null; // stops following
  #arrived: (() => void)[] = [];
  #texts = new Map<string, string>();
  #fetched: Promise<void> = Promise.resolve();
  #stale = false; // the document will be fetched again
  #closed = false;

  constructor(runId: string, service: Service = BROWSER) {
    this.runId = runId;
    this.of = { run_id: runId };
    this.#service = service;
    this.log = new EventPages((after) => service.getEvents(runId, after));
  }

  /** Fetch the view, show it, and follow the run. */
  async open(): Promise<void> {
    try {
      const view = await this.#service.getView(this.runId);
      if (this.#closed) return;
      this.view = new RunView(view);
      batch(() => {
        this.problem.value = null;
        this.loaded.value = true;
      });
    } catch (error) {
      if (this.#closed) return;
      this.problem.value = asProblem(error);
      // A run that does not exist will not appear; other problems may be temporary.
      if (this.problem.value.status !== 404) this.#service.later(RETRY_MS, () => this.open());
      return;
    }
    if (isOver(this.view.run.value.status)) this.link.value = "ended";
    else this.#follow();
    await this.#fetch();
  }

  /** Fetch the document of a run that is not followed, because it has changed: it may go on. */
  hear(): void {
    if (this.loaded.peek() && this.#stop === null) this.refresh();
  }

  close(): void {
    this.#closed = true;
    this.#stop?.();
  }

  /** Show the document that an action returned; a run that was over may continue. */
  update(document: RunDocument): void {
    this.document.value = { ...this.document.value, ...document }; // actions return no parts
    this.#goOn();
    this.refresh();
  }

  /** Remove an approval that was answered here, without waiting for its event. */
  removeCard(id: string): void {
    this.cards.value = this.cards.value.filter((card) => card.approval_id !== id);
    this.refresh();
  }

  /** Fetch the events from `first` to `last` that are not known yet. */
  loadEvents(first: number, last: number): void {
    const end = Math.min(last, this.view.seq.peek());
    if (end < 1) return;
    this.log.load(Math.max(1, first), end).catch((error) => {
      if (!(error instanceof Problem)) throw error; // the header shows that the service does not answer
      this.#service.later(RETRY_MS, () => this.#closed || this.loadEvents(first, last));
    });
  }

  /** Fetch the document and the open approvals soon, once for many changes. */
  refresh(ms = REFRESH_MS): void {
    if (this.#stale || this.#closed) return;
    this.#stale = true;
    this.#service.later(ms, () => {
      this.#stale = false;
      this.#fetched = this.#fetched.then(() => this.#fetch()); // never two at a time
    });
  }

  async #fetch(): Promise<void> {
    if (this.#closed) return;
    try {
      const document = await this.#service.getRun(this.runId);
      // One after the other: of a run that waits, no later event says that the approvals are older than the document.
      const cards = await this.#service.getCards(this.runId);
      batch(() => {
        this.document.value = document;
        this.cards.value = cards;
      });
      this.#goOn();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status !== 404) this.refresh(RETRY_MS);
    }
  }

  /** Follow a run that was over again if its log has grown. */
  #goOn(): void {
    if (this.#stop !== null || (this.document.value?.last_seq ?? 0) <= this.view.seq.peek()) return;
    this.#follow();
  }

  #follow(): void {
    if (this.#closed) return;
    this.#stop = this.#service.follow(this.runId, this.view.seq.peek(), {
      snapshot: (view) =>
        this.#soon(() => {
          this.view.replace(view);
          this.refresh();
        }),
      change: (change) => this.#soon(() => this.#apply(change)),
      delta: (delta) => this.#soon(() => this.#addText(delta)),
      link: (state) => {
        this.link.value = state;
      },
      end: () =>
        this.#soon(() => {
          this.#stop = null;
          this.link.value = "ended";
          this.refresh();
        }),
    });
  }

  /** Apply what arrives before the next frame at once, so that it is drawn once. */
  #soon(apply: () => void): void {
    this.#arrived.push(apply);
    if (this.#arrived.length > 1) return;
    this.#service.frame(() => {
      const arrived = this.#arrived.splice(0);
      if (!this.#closed) batch(() => arrived.forEach((each) => each()));
    });
  }

  #apply(change: Change): void {
    const wasOver = isOver(this.view.run.peek().status);
    if (!this.view.apply(change)) return;
    this.log.add(change);
    if (changesDocument(change, this.view.run.peek().flow)) this.refresh();
    if (!wasOver || isOver(this.view.run.peek().status)) return;
    this.#texts.clear(); // the text of the earlier answer is not a draft of the next
    this.draft.value = null;
  }

  #addText(delta: Delta): void {
    const { attempt } = delta;
    const text = splice(this.#texts.get(attempt) ?? "", delta);
    this.#texts.set(attempt, text);
    this.draft.value = { attempt, text };
  }
}

/** Return whether a change is one of the document: of the run, of its orders, of what it asks, or of a report. */
function changesDocument({ type, patch: { run, orders, steps } }: Change, flow: string): boolean {
  const { status, answer, owner } = (run ?? {}) as Record<string, unknown>;
  return [status, answer, owner, orders].some((part) => part !== undefined) ||
    /^(question|approval)_/.test(type) ||
    flow === "report" && Object.values(steps ?? {}).some((step) => step?.settled_seq !== undefined);
}

/** Return live text whose part from the offset on is replaced by a piece. */
export function splice(
  text: string,
  { offset, text: piece }: Pick<Delta, "offset" | "text">,
): string {
  return text.slice(0, offset).padEnd(offset, " ") + piece;
}
