/** The home of one version that came as a record. */
import type { JsonObject, ObjectKey } from '../../apimachinery/index.ts';
import { decodeHeads, type Head } from '../records/record.ts';
import type { Provenance } from '../store.ts';
import { HeldObject } from './held-object.ts';
import { type Labels, labelsOf } from './labels.ts';
import { OneVersion } from './one-version.ts';

/** Only a writer needs what a remark says. A reader needs to know that there is one: git has the object. */
const SOME_REMARK: Provenance = Object.freeze({ facts: null });

class Received extends OneVersion {
  readonly #hidden: string | undefined;
  readonly #isRemarked: boolean;
  /** Null: it has none. */
  #labels: Labels | null | undefined;

  constructor(head: Head, record: Buffer, start: number) {
    const [, , , , version, terminating, object, hidden, , facts] = head;
    // A copy: the bytes around it need not stay in memory.
    super(Buffer.from(record.subarray(start, start + object)), version, terminating === 1);
    const beside = record.toString('utf8', start + object, start + object + hidden);
    this.#hidden = hidden === 0 ? undefined : beside;
    this.#isRemarked = facts !== null;
  }

  labels(): Labels | undefined {
    if (this.#labels === undefined) this.#labels = labelsOf(this.json().toString()) ?? null;
    return this.#labels ?? undefined;
  }

  hidden(): JsonObject | undefined {
    return this.#hidden === undefined ? undefined : (JSON.parse(this.#hidden) as JsonObject);
  }

  remark(): Provenance | undefined {
    return this.#isRemarked ? SOME_REMARK : undefined;
  }
}

/** The object of a record that holds one. Throws for any other. `known`: its key, if it is at hand. */
export function remoteVersion(record: Buffer, known?: ObjectKey): HeldObject {
  const { heads, start } = decodeHeads(record);
  const [head] = heads;
  if (head === undefined || heads.length !== 1) throw new Error('not one object');
  const [group, kind, namespace, name] = head;
  const key = known ?? Object.freeze({ group, kind, namespace, name });
  return new HeldObject(key, new Received(head, record, start), 0);
}
