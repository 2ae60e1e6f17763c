// One run on the screen: a snapshot of its view, then patches; live text; its document and its event log.

import { type Signal, signal } from "@preact/signals";
import type { LinkState } from "../../connection.ts";
import type { ApprovalCard, RunDocument } from "../../wire.ts";
import type { Delta, Following, Handlers } from "./follow.ts";
import { asProblem, Problem } from "../../problem.ts";
import { EventPages } from "../log/event_pages.ts";
import { Model } from "./model.ts";
import {
  type Change,
  type EventSummary,
  isOver,
  millis,
  type Patch,
  type Step,
  type View,
} from "./view.ts";

/** The service and the clock that the store uses; tests replace them. */
export interface Service {
  getView(runId: string): Promise<View>;
  getRun(runId: string): Promise<RunDocument>;
  getCards(runId: string): Promise<readonly ApprovalCard[]>;
  /** The page of events after a seq. */
  getEvents(runId: string, after: number): Promise<readonly EventSummary[]>;
  getLastSeq(runId: string, after: number): Promise<number>;
  follow(runId: string, after: number, handlers: Handlers): Following;
  /** Call back before the next frame is drawn; never while the tab is hidden. */
  frame(callback: () => void): void;
  /** Call back after so many milliseconds; return a function that cancels it. */
  later(ms: number, callback: () => void): () => void;
  now(): number;
  hidden(): boolean;
}

/** Draw at most fifteen times a second. */
const MIN_FRAME_MS = 66;
/** The delay between an event that changes the document and the next fetch of the document. */
const DOCUMENT_DELAY_MS = 1_000;
const RETRY_MS = 5_000;
/** How often the service is polled for new events while no stream is open: a hidden tab, or a run that is over. */
const POLL_MS = 5_000;
const FAST_POLL_MS = 1_000;
/** The number of fast polls after an action on the run. */
const FAST_POLLS = 20;

export class RunStore {
  readonly runId: string;
  readonly model: Model = new Model();
  readonly log: EventPages;
  /** Increases each time the screen is drawn; 0 until the view is loaded. */
  readonly version: Signal<number> = signal(0);
  /** The run document, with the answer; fetched again when the view says that it changed. */
  readonly document: Signal<RunDocument | null> = signal(null);
  /** Why the run cannot be shown. */
  readonly problem: Signal<Problem | null> = signal(null);
  readonly cards: Signal<readonly ApprovalCard[]> = signal([]);
  /** The newest live text and the attempt that writes it. */
  readonly draft: Signal<{ attempt: string; text: string } | null> = signal(null);
  readonly link: Signal<LinkState | null> = signal(null);

  #service: Service;
  #following: Following | null = null;
  #texts = new Map<string, string>();
  #scheduled = false;
  #drawnAt = -Infinity;
  #stale = false; // an event changed the document
  #fetching = false;
  #cancelFetch: (() => void) | null = null;
  #cancelPoll: (() => void) | null = null;
  #fastPolls = 0;
  #closed = false;

  constructor(runId: string, service: Service) {
    this.runId = runId;
    this.#service = service;
    this.log = new EventPages((after) => service.getEvents(runId, after), () => this.#draw());
  }

  /** Fetch the view and the document, show them, and follow the run. */
  async open(): Promise<void> {
    let shown = () => {};
    // Drawing the view and the answer at once would take one long task.
    const fetched = this.#fetch(new Promise<void>((resolve) => shown = resolve));
    try {
      const view = await this.#service.getView(this.runId);
      if (this.#closed) return;
      this.#replace(view);
      this.problem.value = null;
    } catch (error) {
      shown();
      if (this.#closed) return;
      this.problem.value = asProblem(error);
      // A run that does not exist will not appear; other problems may be temporary.
      if (this.problem.value.status !== 404) this.#service.later(RETRY_MS, () => this.open());
      return;
    }
    this.#stale = false; // the document is being fetched
    this.#flush();
    setTimeout(shown);
    const { seq } = this.model;
    if (isOver(this.model.view.run.status)) this.link.value = "ended";
    else this.#follow();
    this.#schedulePoll();
    await fetched;
    // What happened between the two is in the view only.
    if ((this.document.value?.last_seq ?? 0) < seq) this.#scheduleFetch();
  }

  close(): void {
    this.#closed = true;
    this.#following?.close();
    this.#cancelFetch?.();
    this.#cancelPoll?.();
  }

  /** Show the document that an action returned; a run that was over may continue. */
  update(document: RunDocument): void {
    this.document.value = { ...this.document.value, ...document }; // actions return no parts
    this.#fastPolls = FAST_POLLS;
    this.#cancelPoll?.();
    this.#schedulePoll();
  }

  /** Remove an approval that was answered here, without waiting for its event. */
  removeCard(cardId: string): void {
    this.cards.value = this.cards.value.filter((card) => card.approval_id !== cardId);
    this.#scheduleFetch();
    this.#fastPolls = FAST_POLLS;
  }

  /** Fetch the events from `first` to `last` that are not known yet. */
  loadEvents(first: number, last: number): void {
    const end = Math.min(last, this.model.seq);
    if (end < 1) return;
    this.log.load(Math.max(1, first), end).catch((error) => {
      if (!(error instanceof Problem)) throw error;
      // The header shows that the service does not answer. Drawing again loads what is still in sight.
      this.#service.later(RETRY_MS, () => this.#draw());
    });
  }

  /** The model. Reading it subscribes a component to its changes. */
  get live(): Model {
    this.version.value;
    return this.model;
  }

  /** The status of the run: that of the document where it is newer than the view. */
  get status(): string {
    const document = this.document.value;
    return document !== null && document.last_seq > this.live.seq
      ? document.status
      : this.live.view.run.status;
  }

  #replace(view: View): void {
    this.model.replace(view);
    this.#stale = true;
  }

  #follow(): void {
    this.#following?.close();
    this.#following = this.#service.follow(this.runId, this.model.seq, {
      snapshot: (view) => {
        this.#replace(view);
        this.#draw();
      },
      change: (change) => this.#apply(change),
      delta: (delta) => this.#addText(delta),
      link: (state) => {
        this.link.value = state;
      },
      end: () => {
        this.#following = null;
        this.#flush(); // no later event will draw it
        this.link.value = "ended";
        this.#scheduleFetch();
        this.#schedulePoll();
      },
    });
  }

  #apply(change: Change): void {
    if (!this.model.apply(change)) return;
    this.log.add(change);
    this.#stale ||= changesDocument(change.patch) || /^(question|approval)_/.test(change.type);
    this.#draw();
  }

  /** Draw in the next frame, but not too soon after the last time. */
  #draw(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    if (this.#service.hidden()) {
      this.#service.later(0, () => this.#flush()); // a hidden tab has no frames
      return;
    }
    const delay = this.#drawnAt + MIN_FRAME_MS - this.#service.now();
    const frame = () => this.#service.frame(() => this.#flush());
    if (delay > 0) this.#service.later(delay, frame);
    else frame();
  }

  #flush(): void {
    if (this.#closed) return;
    this.#scheduled = false;
    this.#drawnAt = this.#service.now();
    this.version.value += 1;
    if (this.#stale) {
      this.#stale = false;
      this.#scheduleFetch();
    }
    this.#showDraft();
  }

  #addText(delta: Delta): void {
    const text = splice(this.#texts.get(delta.attempt) ?? "", delta);
    this.#texts.delete(delta.attempt); // moves to the end
    this.#texts.set(delta.attempt, text);
    this.#draw();
  }

  #showDraft(): void {
    const { answer, status } = this.model.view.run;
    if (answer && !isOver(status)) this.#dropTextsBefore(Date.parse(answer.at));
    const attempt = [...this.#texts.keys()].at(-1);
    if (attempt === undefined) {
      this.draft.value = null;
      return;
    }
    const text = this.#texts.get(attempt) ?? "";
    const shown = this.draft.value;
    if (shown?.attempt !== attempt || shown.text !== text) this.draft.value = { attempt, text };
  }

  /** Drop the text of earlier answers: it is not a draft of the next one. */
  #dropTextsBefore(moment: number): void {
    for (const id of this.#texts.keys()) {
      const at = id.lastIndexOf("/a");
      const attempt = this.model.byKey.get(id.slice(0, at))?.attempts[id.slice(at + 2)];
      const end = millis(attempt?.ended_at);
      if (end !== null && end <= moment) this.#texts.delete(id);
    }
  }

  #scheduleFetch(ms = DOCUMENT_DELAY_MS): void {
    if (this.#cancelFetch !== null || this.#closed) return;
    this.#cancelFetch = this.#service.later(ms, () => {
      this.#cancelFetch = null;
      if (this.#fetching) this.#scheduleFetch();
      else this.#fetch();
    });
  }

  async #fetch(shown?: Promise<void>): Promise<void> {
    this.#fetching = true;
    try {
      const document = await this.#service.getRun(this.runId);
      // One after the other: of a run that waits, no later event says that the approvals are older than the document.
      const cards = await this.#service.getCards(this.runId);
      await shown;
      if (this.#closed) return;
      this.document.value = document;
      this.cards.value = cards;
    } catch (error) {
      // The header shows that the service does not answer.
      if (!(error instanceof Problem)) throw error;
      if (this.version.value > 0) this.#scheduleFetch(RETRY_MS);
    } finally {
      this.#fetching = false;
    }
  }

  #schedulePoll(): void {
    if (this.#closed) return;
    this.#cancelPoll?.();
    const ms = this.#fastPolls > 0 ? FAST_POLL_MS : POLL_MS;
    this.#cancelPoll = this.#service.later(ms, () => this.#poll());
  }

  /** Poll for new events while no stream is open: for the title of a hidden tab and to follow a run that reopens. */
  async #poll(): Promise<void> {
    this.#fastPolls = Math.max(0, this.#fastPolls - 1);
    const hidden = this.#service.hidden();
    try {
      if (hidden || this.#following === null) {
        const last = await this.#service.getLastSeq(this.runId, this.model.seq);
        if (this.#closed) return;
        if (last > this.model.seq) {
          if (this.#following === null) this.#follow();
          if (hidden) this.#following!.catchUp(last);
        }
      }
    } catch (error) {
      // The header shows that the service does not answer; the next poll tries again.
      if (!(error instanceof Problem)) throw error;
    } finally {
      this.#schedulePoll();
    }
  }
}

/** Return whether a patch changes the run document too: the run, its orders, or a step that appears or is settled. */
function changesDocument({ run, orders, steps }: Patch): boolean {
  const { status, answer, owner } = (run ?? {}) as Record<string, unknown>;
  const changed = Object.values((steps ?? {}) as Record<string, Partial<Step> | null>);
  return [status, answer, owner, orders].some((part) => part !== undefined) ||
    changed.some((each) => each?.seq !== undefined || each?.settled_seq !== undefined);
}

/** Return live text whose part from the offset on is replaced by a piece. */
export function splice(
  text: string,
  { offset, text: piece }: Pick<Delta, "offset" | "text">,
): string {
  return text.slice(0, offset).padEnd(offset, " ") + piece;
}
