// One run as it is shown: its document first, then its events, a batch a frame; live text; and what came of the link.

import { type Signal, signal } from "@preact/signals";
import type { LinkState } from "../connection.ts";
import type { Following, Handlers } from "../follow.ts";
import type { Card, Delta, Entry as LogEntry, EventPage, RunDocument } from "../documents.ts";
import { asProblem, Problem } from "../problem.ts";
import type { Entry } from "./entry.ts";
import { applyBatch } from "./fold.ts";
import { emptyModel, type Model } from "./model.ts";

/** What the store needs of the world. */
export interface Service {
  getRun(runId: string): Promise<RunDocument>;
  getCards(runId: string): Promise<readonly Card[]>;
  getEvents(runId: string, after: number): Promise<EventPage>;
  follow(runId: string, after: number, handlers: Handlers): Following;
  /** Before the next picture is drawn; never while the tab is hidden. */
  frame(act: () => void): void;
  /** After so many milliseconds; returns what calls it off. */
  later(ms: number, act: () => void): () => void;
  now(): number;
  hidden(): boolean;
}

const ENDED = new Set(["succeeded", "partial", "failed", "cancelled"]);

/** Fifteen pictures a second at most while events pour in. */
const BETWEEN_PICTURES_MS = 66;
/** Four, while what was before the screen was opened is caught up with: nobody reads that as it flies by. */
const BETWEEN_OLD_PICTURES_MS = 250;
/** How long entries are folded before the browser may do something else: a click is to be heard within a frame. */
const SLICE_MS = 8;
/** How many entries are folded between two looks at the clock. */
const PIECE = 100;
/** How long the document is left alone after something happened that it tells of. */
const DOCUMENT_REST_MS = 1_000;
const DOCUMENT_RETRY_MS = 5_000;
/** How often the log is looked at while no stream is open: a hidden tab, or a run that is over. */
const LOOK_MS = 5_000;
const LOOK_SOON_MS = 1_000;
/** How many looks are soon after somebody asked something of a run that was over. */
const SOON_LOOKS = 20;

export class RunStore {
  readonly model: Model = emptyModel();
  /** Goes up with each batch. */
  readonly version: Signal<number> = signal(0);
  readonly document: Signal<RunDocument | null> = signal(null);
  /** Why there is no document. */
  readonly problem: Signal<Problem | null> = signal(null);
  readonly cards: Signal<readonly Card[]> = signal([]);
  /** The newest live text of an answer and the attempt that writes it. */
  readonly draft: Signal<{ attempt: string; text: string } | null> = signal(null);
  readonly link: Signal<LinkState | null> = signal(null);

  #runId: string;
  #service: Service;
  #following: Following | null = null;
  #queue: Entry[] = [];
  #texts = new Map<string, string>();
  #drawing = false;
  #drawnAt = -Infinity;
  #wanted = 0;
  #fetching = false;
  #fetchOff: (() => void) | null = null;
  #lookOff: (() => void) | null = null;
  #soon = 0;
  #closed = false;

  constructor(runId: string, service: Service) {
    this.#runId = runId;
    this.#service = service;
  }

  /** Fetch the document, then follow the log from its beginning. */
  async open(): Promise<void> {
    await this.#fetch();
    if (this.#closed || this.document.value === null) return;
    this.#follow();
    this.#lookLater();
  }

  close(): void {
    this.#closed = true;
    this.#following?.close();
    this.#fetchOff?.();
    this.#lookOff?.();
  }

  /** What a verb answered: the run as it is now, which may be going on again. */
  take(document: RunDocument): void {
    this.document.value = document;
    this.#soon = SOON_LOOKS;
    this.#lookOff?.();
    this.#lookLater();
  }

  /** A question was answered here: do not wait for the log to say so. */
  answered(cardId: string): void {
    this.cards.value = this.cards.value.filter((card) => card.id !== cardId);
    this.#fetchSoon();
    this.#soon = SOON_LOOKS;
  }

  /** The model for whoever draws it. Signals skip a component that reads one and whose own have not changed, so each
   *  component has to read the model by this, or it is drawn with what was true before. */
  get live(): Model {
    this.version.value;
    return this.model;
  }

  /** Whether every event that the document knew of is in the model. */
  get caughtUp(): boolean {
    return this.model.seq >= (this.document.value?.last_seq ?? 0);
  }

  #follow(): void {
    this.#following?.close();
    this.#following = this.#service.follow(this.#runId, this.model.seq, {
      event: (entry) => this.#push(entry),
      delta: (delta) => this.#write(delta),
      link: (state) => {
        this.link.value = state;
      },
      end: () => {
        this.#following = null;
        this.#flush(); // nothing more will come to wait for
        this.link.value = "ended";
        this.#fetchSoon();
        this.#lookLater();
      },
    });
  }

  #push(entry: LogEntry): void {
    this.#queue.push(entry as unknown as Entry);
    this.#draw();
  }

  /** Fold what has come and have it drawn: in the next frame, but not too soon after the last time. */
  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    const between = this.caughtUp ? BETWEEN_PICTURES_MS : BETWEEN_OLD_PICTURES_MS;
    const rest = this.#drawnAt + between - this.#service.now();
    const frame = () => this.#service.frame(() => this.#flush());
    if (rest > 0) this.#service.later(rest, frame);
    else frame();
  }

  /** Fold what has come, a slice at a time, and have it drawn when all is folded. */
  #flush(): void {
    if (this.#closed) return;
    this.#fold();
    if (this.#queue.length > 0) {
      this.#service.later(0, () => this.#flush());
      return;
    }
    this.#drawing = false;
    this.#drawnAt = this.#service.now();
    this.version.value = this.model.version;
    if (this.model.documentWanted !== this.#wanted) {
      this.#wanted = this.model.documentWanted;
      this.#fetchSoon();
    }
    this.#tellDraft();
  }

  #fold(): void {
    const end = this.#service.now() + SLICE_MS;
    let folded = 0;
    do {
      applyBatch(this.model, this.#queue.slice(folded, folded + PIECE));
      folded += PIECE;
    } while (folded < this.#queue.length && this.#service.now() < end);
    this.#queue.splice(0, folded);
  }

  #write(delta: Delta): void {
    const text = placed(this.#texts.get(delta.attempt) ?? "", delta);
    this.#texts.delete(delta.attempt); // the newest stands last
    this.#texts.set(delta.attempt, text);
    this.#draw();
  }

  #tellDraft(): void {
    const finish = this.model.finishes.at(-1);
    if (finish && !isOver(this.model.status)) this.#forgetBefore(finish.at);
    const attempt = [...this.#texts.keys()].at(-1);
    if (attempt === undefined) {
      this.draft.value = null;
      return;
    }
    const text = this.#texts.get(attempt) ?? "";
    const shown = this.draft.value;
    if (shown?.attempt !== attempt || shown.text !== text) this.draft.value = { attempt, text };
  }

  /** The run goes on after an answer: what was written for that one is no draft of the next. */
  #forgetBefore(moment: number): void {
    for (const id of this.#texts.keys()) {
      const lane = this.model.byKey.get(id.slice(0, id.lastIndexOf("/a")));
      const end = lane?.attempts.find((attempt) => attempt.id === id)?.end ?? null;
      if (end !== null && end <= moment) this.#texts.delete(id);
    }
  }

  #fetchSoon(ms = DOCUMENT_REST_MS): void {
    if (this.#fetchOff !== null || this.#closed) return;
    this.#fetchOff = this.#service.later(ms, () => {
      this.#fetchOff = null;
      if (this.#fetching) this.#fetchSoon();
      else this.#fetch();
    });
  }

  async #fetch(): Promise<void> {
    this.#fetching = true;
    try {
      const [document, cards] = await Promise.all([
        this.#service.getRun(this.#runId),
        this.#service.getCards(this.#runId),
      ]);
      if (this.#closed) return;
      this.document.value = document;
      this.cards.value = cards;
      this.problem.value = null;
    } catch (error) {
      if (this.#closed) return;
      this.problem.value = asProblem(error);
      // A run that is not there will not come; anything else may mend itself.
      if (this.problem.value.status !== 404) this.#again();
    } finally {
      this.#fetching = false;
    }
  }

  #again(): void {
    const first = this.document.value === null;
    this.#fetchOff ??= this.#service.later(DOCUMENT_RETRY_MS, () => {
      this.#fetchOff = null;
      if (first) this.open();
      else this.#fetch();
    });
  }

  #lookLater(): void {
    if (this.#closed) return;
    this.#lookOff?.();
    const ms = this.#soon > 0 ? LOOK_SOON_MS : LOOK_MS;
    this.#lookOff = this.#service.later(ms, () => this.#look());
  }

  /** While no stream is open, ask for what is new: a hidden tab keeps its title, a run that reopens is followed. */
  async #look(): Promise<void> {
    this.#soon = Math.max(0, this.#soon - 1);
    const hidden = this.#service.hidden();
    const over = this.#following === null;
    try {
      if (hidden || over) {
        const page = await this.#service.getEvents(this.#runId, this.model.seq);
        if (this.#closed) return;
        this.#queue.push(...page.events as unknown as Entry[]);
        if (hidden) this.#flush();
        else if (page.events.length) this.#draw();
        if (over && !hidden && page.last_seq > this.model.seq) this.#follow();
      }
    } catch (error) {
      // The header's chip tells that the service does not answer; the next look tries again.
      if (!(error instanceof Problem)) throw error;
    } finally {
      this.#lookLater();
    }
  }
}

/** Live text with a piece put at its offset; what stood from there on goes. */
export function placed(
  text: string,
  { offset, text: piece }: Pick<Delta, "offset" | "text">,
): string {
  return text.slice(0, offset).padEnd(offset, " ") + piece;
}

export function isOver(status: string): boolean {
  return ENDED.has(status);
}
