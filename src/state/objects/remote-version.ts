/** A container of one version that was read from a record. */
import type { JsonObject, ObjectKey } from '../../apimachinery/index.ts';
import { decodeHeads, type Head } from '../records/record.ts';
import type { Provenance } from '../store.ts';
import { type Labels, labelsOf } from './labels.ts';
import { ObjectHandle } from './object-handle.ts';
import { OneVersion } from './one-version.ts';

class RecordVersion extends OneVersion {
  readonly #hidden: string | undefined;
  /**
   * A reader needs the facts: they name the values that the file encrypts. Only a writer needs the
   * text.
   */
  readonly #provenance: Provenance | undefined;
  /** Null: the object has none. */
  #labels: Labels | null | undefined;

  constructor(head: Head, record: Buffer, start: number) {
    const [, , , , version, terminating, object, hidden, , facts] = head;
    // A copy, so that the surrounding bytes can be freed.
    super(Buffer.from(record.subarray(start, start + object)), version, terminating === 1);
    const beside = record.toString('utf8', start + object, start + object + hidden);
    this.#hidden = hidden === 0 ? undefined : beside;
    this.#provenance = facts === null ? undefined : { facts };
  }

  labels(): Labels | undefined {
    if (this.#labels === undefined) this.#labels = labelsOf(this.json().toString()) ?? null;
    return this.#labels ?? undefined;
  }

  hidden(): JsonObject | undefined {
    return this.#hidden === undefined ? undefined : JSON.parse(this.#hidden);
  }

  provenance(): Provenance | undefined {
    return this.#provenance;
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
