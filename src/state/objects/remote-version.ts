/** A container of one version that was read from a record. */
import type { JsonObject, ObjectKey } from '../../apimachinery/index.ts';
import { decodeHeads, type Head } from '../records/record.ts';
import type { Provenance } from '../store.ts';
import { type Labels, labelsOf } from './labels.ts';
import { ObjectHandle } from './object-handle.ts';
import { OneVersion } from './one-version.ts';

/**
 * Only a writer needs the provenance itself. A reader needs only its presence, which means that the
 * object is in git.
 */
const SOME_PROVENANCE: Provenance = Object.freeze({ facts: null });

class RecordVersion extends OneVersion {
  readonly #hidden: string | undefined;
  readonly #hasProvenance: boolean;
  /** Null: the object has none. */
  #labels: Labels | null | undefined;

  constructor(head: Head, record: Buffer, start: number) {
    const [, , , , version, terminating, object, hidden, , facts] = head;
    // A copy, so that the surrounding bytes can be freed.
    super(Buffer.from(record.subarray(start, start + object)), version, terminating === 1);
    const beside = record.toString('utf8', start + object, start + object + hidden);
    this.#hidden = hidden === 0 ? undefined : beside;
    this.#hasProvenance = facts !== null;
  }

  labels(): Labels | undefined {
    if (this.#labels === undefined) this.#labels = labelsOf(this.json().toString()) ?? null;
    return this.#labels ?? undefined;
  }

  hidden(): JsonObject | undefined {
    return this.#hidden === undefined ? undefined : JSON.parse(this.#hidden);
  }

  provenance(): Provenance | undefined {
    return this.#hasProvenance ? SOME_PROVENANCE : undefined;
  }
}

/**
 * The object of a record. Throws unless the record holds exactly one. `known`: its key, if the
 * caller has it.
 */
export function remoteVersion(record: Buffer, known?: ObjectKey): ObjectHandle {
  const { heads, start } = decodeHeads(record);
  const [head] = heads;
  if (head === undefined || heads.length !== 1) throw new Error('not one object');
  const [group, kind, namespace, name] = head;
  const key = known ?? Object.freeze({ group, kind, namespace, name });
  return new ObjectHandle(key, new RecordVersion(head, record, start), 0);
}
