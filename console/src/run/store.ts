// One run as it is shown: a snapshot of its view, then patches; live text; its document and its event log.

import { type Signal, signal } from "@preact/signals";
import type { LinkState } from "../connection.ts";
import type { ApprovalCard, RunDocument } from "../wire.ts";
import type { Delta, Following, Handlers } from "../follow.ts";
import { asProblem, Problem } from "../problem.ts";
import { EventPages, type Told } from "./event_pages.ts";
import { Model } from "./model.ts";
import { type Change, isOver, millis, type Patch, type View } from "./view.ts";

/** What the store needs of the world. */
export interface Service {
  getView(runId: string): Promise<View>;
  getRun(runId: string): Promise<RunDocument>;
  getCards(runId: string): Promise<readonly ApprovalCard[]>;
  /** The page of events after a seq. */
  getEvents(runId: string, after: number): Promise<readonly Told[]>;
  getLastSeq(runId: string, after: number): Promise<number>;
  follow(runId: string, after: number, handlers: Handlers): Following;
  /** Before the next picture is drawn; never while the tab is hidden. */
  frame(act: () => void): void;
  /** After so many milliseconds; returns what cancels it. */
  later(ms: number, act: () => void): () => void;
  now(): number;
  hidden(): boolean;
}

/** Fifteen pictures a second at most while events pour in. */
const BETWEEN_PICTURES_MS = 66;
/** How long the document is left alone after an event that changed it. */
const DOCUMENT_REST_MS = 1_000;
const RETRY_MS = 5_000;
/** How often the service is asked for new events while no stream is open: a hidden tab, or a run that is over. */
const LOOK_MS = 5_000;
const LOOK_SOON_MS = 1_000;
/** How many looks are soon after somebody asked something of a run that was over. */
const SOON_LOOKS = 20;

export class RunStore {
  readonly model: Model = new Model();
  readonly log: EventPages;
  /** Goes up with each picture; 0 until the view is there. */
  readonly version: Signal<number> = signal(0);
  /** The run as a whole, with its answer; it follows the view. */
  readonly document: Signal<RunDocument | null> = signal(null);
  /** Why the run cannot be shown. */
  readonly problem: Signal<Problem | null> = signal(null);
  readonly cards: Signal<readonly ApprovalCard[]> = signal([]);
  /** The newest live text of an answer and the attempt that writes it. */
  readonly draft: Signal<{ attempt: string; text: string } | null> = signal(null);
  readonly link: Signal<LinkState | null> = signal(null);

  #runId: string;
  #service: Service;
  #following: Following | null = null;
  #texts = new Map<string, string>();
  #drawing = false;
  #drawnAt = -Infinity;
  #stale = false; // an event changed what the document says
  #fetching = false;
  #fetchOff: (() => void) | null = null;
  #lookOff: (() => void) | null = null;
  #soon = 0;
  #closed = false;

  constructor(runId: string, service: Service) {
    this.#runId = runId;
    this.#service = service;
    this.log = new EventPages((after) => service.getEvents(runId, after), () => this.#draw());
  }

  /** Fetch the view and show it, then follow the run and fetch its document. */
  async open(): Promise<void> {
    try {
      const view = await this.#service.getView(this.#runId);
      if (this.#closed) return;
      this.#replace(view);
      this.problem.value = null;
    } catch (error) {
      if (this.#closed) return;
      this.problem.value = asProblem(error);
      // A run that does not exist will not appear; any other problem may pass.
      if (this.problem.value.status !== 404) this.#service.later(RETRY_MS, () => this.open());
      return;
    }
    this.#flush();
    if (isOver(this.model.view.run.status)) this.link.value = "ended";
    else this.#follow();
    this.#lookLater();
    await this.#fetch();
  }

  close(): void {
    this.#closed = true;
    this.#following?.close();
    this.#fetchOff?.();
    this.#lookOff?.();
  }

  /** Show what a verb answered: the run as it is now, which may continue. */
  take(document: RunDocument): void {
    this.document.value = document;
    this.#soon = SOON_LOOKS;
    this.#lookOff?.();
    this.#lookLater();
  }

  /** Remove a question that was answered here, before the log says so. */
  answered(cardId: string): void {
    this.cards.value = this.cards.value.filter((card) => card.id !== cardId);
    this.#fetchSoon();
    this.#soon = SOON_LOOKS;
  }

  /** Fetch the events from `first` to `last` that are not known yet. */
  needEvents(first: number, last: number): void {
    const end = Math.min(last, this.model.seq);
    if (end < 1) return;
    this.log.need(Math.max(1, first), end).catch((error) => {
      if (!(error instanceof Problem)) throw error;
      // The header shows that the service does not answer; ask again as long as somebody looks.
      this.#service.later(RETRY_MS, () => this.#draw());
    });
  }

  /** The model, for a component that draws it: reading it subscribes the component to its changes. */
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
    this.#following = this.#service.follow(this.#runId, this.model.seq, {
      snapshot: (view) => {
        this.#replace(view);
        this.#draw();
      },
      change: (change) => this.#apply(change),
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

  #apply(change: Change): void {
    if (!this.model.take(change)) return;
    this.log.add(change);
    this.#stale ||= changesDocument(change.patch);
    this.#draw();
  }

  /** Draw what has come: in the next frame, but not too soon after the last picture. */
  #draw(): void {
    if (this.#drawing || this.#closed) return;
    this.#drawing = true;
    if (this.#service.hidden()) {
      this.#service.later(0, () => this.#flush()); // a hidden tab has no frames
      return;
    }
    const rest = this.#drawnAt + BETWEEN_PICTURES_MS - this.#service.now();
    const frame = () => this.#service.frame(() => this.#flush());
    if (rest > 0) this.#service.later(rest, frame);
    else frame();
  }

  #flush(): void {
    if (this.#closed) return;
    this.#drawing = false;
    this.#drawnAt = this.#service.now();
    this.version.value += 1;
    if (this.#stale) {
      this.#stale = false;
      if (this.document.value !== null) this.#fetchSoon();
    }
    this.#showDraft();
  }

  #write(delta: Delta): void {
    const text = placed(this.#texts.get(delta.attempt) ?? "", delta);
    this.#texts.delete(delta.attempt); // the newest is the last one
    this.#texts.set(delta.attempt, text);
    this.#draw();
  }

  #showDraft(): void {
    const answer = this.model.lastAnswer;
    if (answer && !isOver(this.model.view.run.status)) this.#forgetBefore(Date.parse(answer.at));
    const attempt = [...this.#texts.keys()].at(-1);
    if (attempt === undefined) {
      this.draft.value = null;
      return;
    }
    const text = this.#texts.get(attempt) ?? "";
    const shown = this.draft.value;
    if (shown?.attempt !== attempt || shown.text !== text) this.draft.value = { attempt, text };
  }

  /** Forget the text of earlier answers: it is not a draft of the next one. */
  #forgetBefore(moment: number): void {
    for (const id of this.#texts.keys()) {
      const at = id.lastIndexOf("/a");
      const attempt = this.model.byKey.get(id.slice(0, at))?.attempts[id.slice(at + 2)];
      const end = millis(attempt?.ended_at);
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
    } catch (error) {
      // The header shows that the service does not answer; the document is fetched again.
      if (!(error instanceof Problem)) throw error;
      this.#fetchSoon(RETRY_MS);
    } finally {
      this.#fetching = false;
    }
  }

  #lookLater(): void {
    if (this.#closed) return;
    this.#lookOff?.();
    const ms = this.#soon > 0 ? LOOK_SOON_MS : LOOK_MS;
    this.#lookOff = this.#service.later(ms, () => this.#look());
  }

  /** Ask for new events while no stream is open: a hidden tab keeps its title, a run that reopens is followed. */
  async #look(): Promise<void> {
    this.#soon = Math.max(0, this.#soon - 1);
    const hidden = this.#service.hidden();
    try {
      if (hidden || this.#following === null) {
        const last = await this.#service.getLastSeq(this.#runId, this.model.seq);
        if (this.#closed) return;
        if (last > this.model.seq) {
          if (this.#following === null) this.#follow();
          if (hidden) this.#following!.catchUp(last);
        }
      }
    } catch (error) {
      // The header shows that the service does not answer; the next look tries again.
      if (!(error instanceof Problem)) throw error;
    } finally {
      this.#lookLater();
    }
  }
}

/** Return whether the run document says more about what a patch changes. */
function changesDocument({ run, orders, approvals }: Patch): boolean {
  const { status, answers, owner } = (run ?? {}) as Record<string, unknown>;
  return [status, answers, owner, orders, approvals].some((part) => part !== undefined);
}

/** Return live text with a piece put at its offset; what was there from the offset on is replaced. */
export function placed(
  text: string,
  { offset, text: piece }: Pick<Delta, "offset" | "text">,
): string {
  return text.slice(0, offset).padEnd(offset, " ") + piece;
}
