/** A batch of changes, computed and encoded before readers see it: the new view and its records. */
import type { JsonObject, ObjectKey } from '../apimachinery/index.ts';
import type { EngineWrite } from './engines/engine.ts';
import { eventsWrite, superseded } from './journal/event-records.ts';
import { Draft, type DraftEvent } from './objects/draft.ts';
import type { HeldObject } from './objects/held-object.ts';
import type { View, ViewStep } from './objects/view.ts';
import type { RecordCodec } from './records/codec.ts';
import { objectRecordKey } from './records/record.ts';
import { noteWrite, objectWrite } from './records/saved-state.ts';
import type { RedoneStep } from './redo/redo-record.ts';
import type { Change, Provenance } from './store.ts';

export type Notes = Readonly<Record<string, JsonObject | undefined>>;

/** Object changes of a step. */
export interface StepDraft extends Pick<Draft, 'repeats'>, Pick<RedoneStep, 'events' | 'remarked'> {
  /** One per change: the object as it will be stored, or undefined after a removal. */
  readonly results: (HeldObject | undefined)[];
}

/** Documents whose text changed, by name. */
type News = RedoneStep['news'];

export interface PreparedStep {
  /** The first version of the step. */
  readonly next: number;
  readonly draft: StepDraft;
  readonly shown: ViewStep;
  readonly news: News;
  readonly writes: readonly EngineWrite[];
}

/** Input of a step. */
export interface Wanted {
  readonly changes: readonly Change[];
  readonly notes: Notes;
  readonly remarks: Iterable<readonly [ObjectKey, Provenance | undefined]>;
}

export class Preparation {
  readonly #view: View;
  readonly #codec: RecordCodec;
  /** Followers read the records: events are persisted for them. */
  readonly #isFollowed: boolean;

  constructor(view: View, codec: RecordCodec, isFollowed: boolean) {
    this.#view = view;
    this.#codec = codec;
    this.#isFollowed = isFollowed;
  }

  /**
   * Computes the step that begins with version `next`. Every failure, such as an object that cannot
   * be encoded, happens here, before any change.
   */
  *of({ changes, notes, remarks }: Wanted, next: number): Generator<void, PreparedStep> {
    const draft = new Draft((key) => this.#view.get(key), next);
    yield* draft.bring(remarks);
    for (const change of changes) yield draft.add(change);
    yield* draft.finish();
    return yield* this.put(draft, this.news(notes), next);
  }

  /** Encodes a step whose events are known. */
  *put(draft: StepDraft, news: News, next: number): Generator<void, PreparedStep> {
    const writes: EngineWrite[] = [];
    for (const event of lasting(draft)) yield void writes.push(this.#eventWrite(event));
    if (this.#isFollowed && draft.events.length > 0) {
      writes.push(eventsWrite(this.#codec, draft.events));
    }
    for (const { current } of draft.remarked) {
      yield void writes.push(objectWrite(this.#codec, current));
    }
    for (const write of this.noteWrites(news)) writes.push(write);
    const shown = yield* this.#view.step(draft.events, draft.remarked);
    return { next, draft, shown, news, writes };
  }

  /** Adds the current documents to a prepared step. Documents take no version. */
  withNotes(step: PreparedStep, notes: Notes): PreparedStep {
    const news = this.news(notes);
    return { ...step, news, writes: [...step.writes, ...this.noteWrites(news)] };
  }

  news(notes: Notes): News {
    return Object.entries(notes)
      .map(([name, value]) => [name, value && JSON.stringify(value)] as const)
      .filter(([name, text]) => this.#view.noteText(name) !== text);
  }

  noteWrites(news: News): EngineWrite[] {
    return news.map(([name, text]) => noteWrite(this.#codec, name, text));
  }

  #eventWrite({ type, current }: DraftEvent): EngineWrite {
    if (type !== 'DELETED') return objectWrite(this.#codec, current);
    return { key: objectRecordKey(current.key), value: undefined };
  }
}

/** Of several events of one object, only the last one is written. */
function lasting({ events, repeats }: StepDraft): readonly DraftEvent[] {
  if (!repeats) return events;
  const passed = new Set<unknown>(superseded(events));
  return events.filter((event) => !passed.has(event));
}
