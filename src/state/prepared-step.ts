/** A batch of changes, computed and encoded before readers see it: the new view and its records. */
import type { EngineWrite } from './engines/engine.ts';
import { eventsWrite, superseded } from './journal/event-records.ts';
import { Draft, type DraftEvent } from './objects/draft.ts';
import type { ObjectHandle } from './objects/object-handle.ts';
import type { View, ViewStep } from './objects/view.ts';
import type { RecordCodec } from './records/codec.ts';
import { objectRecordKey } from './records/record.ts';
import { documentWrite, objectWrite } from './records/saved-state.ts';
import type { StepChanges } from './redo/redo-record.ts';
import type { Change, Documents, NewProvenance } from './store.ts';

/** Object changes of a step. */
export interface StepDraft
  extends Pick<Draft, 'repeats'>,
    Pick<StepChanges, 'events' | 'provenanceChanges'> {
  /** One per change: the object as it will be stored, or undefined after a removal. */
  readonly results: (ObjectHandle | undefined)[];
}

/** Documents whose text changed, by name. */
type DocumentChanges = StepChanges['documentChanges'];

export interface PreparedStep {
  /** The first version of the step. */
  readonly next: number;
  readonly draft: StepDraft;
  readonly viewStep: ViewStep;
  readonly documentChanges: DocumentChanges;
  readonly writes: readonly EngineWrite[];
}

/** Input of a step. */
export interface StepRequest {
  readonly changes: readonly Change[];
  readonly documents: Documents;
  readonly provenance: Iterable<NewProvenance>;
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
  *prepare(
    { changes, documents, provenance }: StepRequest,
    next: number,
  ): Generator<void, PreparedStep> {
    const draft = new Draft((key) => this.#view.get(key), next);
    yield* draft.addProvenance(provenance);
    for (const change of changes) yield draft.add(change);
    yield* draft.finish();
    return yield* this.encode(draft, this.documentChanges(documents), next);
  }

  /** Encodes a step whose events are known. */
  *encode(
    draft: StepDraft,
    documentChanges: DocumentChanges,
    next: number,
  ): Generator<void, PreparedStep> {
    const writes: EngineWrite[] = [];
    for (const event of lastOfEach(draft)) yield void writes.push(this.#eventWrite(event));
    if (this.#isFollowed && draft.events.length > 0) {
      writes.push(eventsWrite(this.#codec, draft.events));
    }
    for (const { current } of draft.provenanceChanges) {
      yield void writes.push(objectWrite(this.#codec, current));
    }
    for (const write of this.documentWrites(documentChanges)) writes.push(write);
    const viewStep = yield* this.#view.step(draft.events, draft.provenanceChanges);
    return { next, draft, viewStep, documentChanges, writes };
  }

  /** Adds the current documents to a prepared step. Documents take no version. */
  withDocuments(step: PreparedStep, documents: Documents): PreparedStep {
    const documentChanges = this.documentChanges(documents);
    return {
      ...step,
      documentChanges,
      writes: [...step.writes, ...this.documentWrites(documentChanges)],
    };
  }

  documentChanges(documents: Documents): DocumentChanges {
    return Object.entries(documents)
      .map(([name, value]) => [name, value && JSON.stringify(value)] as const)
      .filter(([name, text]) => this.#view.documentText(name) !== text);
  }

  documentWrites(documentChanges: DocumentChanges): EngineWrite[] {
    return documentChanges.map(([name, text]) => documentWrite(this.#codec, name, text));
  }

  #eventWrite({ type, current }: DraftEvent): EngineWrite {
    if (type !== 'DELETED') return objectWrite(this.#codec, current);
    return { key: objectRecordKey(current.key), value: undefined };
  }
}

/** Of several events of one object, only the last one is written. */
function lastOfEach({ events, repeats }: StepDraft): readonly DraftEvent[] {
  if (!repeats) return events;
  const passed = new Set<unknown>(superseded(events));
  return events.filter((event) => !passed.has(event));
}
