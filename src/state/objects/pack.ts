/** Many versions in the bytes of one record, parsed on access. */
import { isAscii } from 'node:buffer';
import { LRUCache } from 'lru-cache';
import {
  type JsonObject,
  type JsonValue,
  type KubeObject,
  type ObjectKey,
  TextPool,
} from '../../apimachinery/index.ts';
import { decodeHeads, type Head } from '../records/record.ts';
import type { Provenance } from '../store.ts';
import { type Labels, labelsOf } from './labels.ts';
import { ObjectHandle, type VersionContainer } from './object-handle.ts';

/** Interned groups, kinds and namespaces, which repeat. */
const shared = new TextPool(100_000);

/** Texts per object: public JSON, hidden data, text of its provenance. */
const TEXTS = 3;

/** Facts of packs read lately: a step that changes many objects reads the facts of whole packs. */
const recentFacts = new LRUCache<Pack, readonly JsonValue[]>({ max: 8 });

export class Pack implements VersionContainer {
  /** Key of the record. */
  readonly name: string;
  /** Positions of versions that are no longer current. */
  readonly dead = new Set<number>();
  readonly size: number;
  readonly #bytes: Buffer;
  /** Offset of each text, and the end of the last one. */
  readonly #offsets: Uint32Array;
  readonly #versions: Float64Array;
  readonly #terminating: ReadonlySet<number>;
  readonly #ascii: boolean;
  /** Positions of versions without provenance. */
  readonly #bare: ReadonlySet<number>;
  #facts: readonly JsonValue[] | undefined;
  /** Cached labels by position; null: the object has none. */
  #labels: (Labels | null | undefined)[] | undefined;

  /** Throws for an invalid record. The pack takes ownership of `bytes`. */
  static read(name: string, bytes: Buffer): { pack: Pack; keys: ObjectKey[] } {
    const { heads, start } = decodeHeads(bytes);
    const pack = new Pack(name, bytes, { heads, start });
    return { pack, keys: heads.map(keyOf) };
  }

  private constructor(
    name: string,
    bytes: Buffer,
    { heads, start }: { heads: readonly Head[]; start: number },
  ) {
    this.name = name;
    this.size = heads.length;
    this.#bytes = bytes;
    this.#offsets = new Uint32Array(heads.length * TEXTS + 1);
    this.#versions = new Float64Array(heads.length);
    this.#ascii = isAscii(bytes);
    this.#facts = heads.map((head) => head[9]);
    const terminating = new Set<number>();
    const bare = new Set<number>();
    let offset = start;
    let text = 0;
    for (const [at, head] of heads.entries()) {
      this.#versions[at] = head[4];
      if (head[5] === 1) terminating.add(at);
      if (head[9] === null) bare.add(at);
      for (const length of [head[6], head[7], head[8]]) {
        this.#offsets[text++] = offset;
        offset += length;
      }
    }
    this.#offsets[text] = offset;
    this.#terminating = terminating;
    this.#bare = bare;
  }

  get live(): number {
    return this.size - this.dead.size;
  }

  resourceVersion(at: number): number {
    return this.#versions[at] ?? 0;
  }

  terminating(at: number): boolean {
    return this.#terminating.has(at);
  }

  json(at: number): Buffer {
    return this.#slice(at, 0);
  }

  object(at: number): KubeObject {
    return JSON.parse(this.#text(at, 0));
  }

  labels(at: number): Labels | undefined {
    this.#labels ??= new Array<Labels | null | undefined>(this.size);
    const known = this.#labels[at];
    if (known !== undefined) return known ?? undefined;
    const labels = labelsOf(this.#text(at, 0));
    this.#labels[at] = labels ?? null;
    return labels;
  }

  hidden(at: number): JsonObject | undefined {
    const text = this.#text(at, 1);
    return text === '' ? undefined : JSON.parse(text);
  }

  provenance(at: number): Provenance | undefined {
    if (this.#bare.has(at)) return undefined;
    const factsAt = (): JsonValue => (this.#facts ?? this.#recentFacts())[at] ?? null;
    return {
      // Rarely read: found by decoding the heads of the pack.
      get facts() {
        return factsAt();
      },
      text: this.#text(at, 2) || undefined,
    };
  }

  #recentFacts(): readonly JsonValue[] {
    const known = recentFacts.get(this);
    if (known !== undefined) return known;
    const facts = this.#decodeFacts();
    recentFacts.set(this, facts);
    return facts;
  }

  #decodeFacts(): readonly JsonValue[] {
    return decodeHeads(this.#bytes).heads.map((head) => head[9]);
  }

  /** Facts of the provenance, or null. Caches those of all objects until `release`. */
  facts(at: number): JsonValue {
    this.#facts ??= this.#decodeFacts();
    return this.#facts[at] ?? null;
  }

  /** Drops the cached facts, which only the start reads. */
  release(): void {
    this.#facts = undefined;
  }

  #slice(at: number, text: number): Buffer {
    const first = at * TEXTS + text;
    return this.#bytes.subarray(this.#offsets[first], this.#offsets[first + 1]);
  }

  #text(at: number, text: number): string {
    const first = at * TEXTS + text;
    const [start, end] = [this.#offsets[first] ?? 0, this.#offsets[first + 1] ?? 0];
    return this.#bytes.toString(this.#ascii ? 'latin1' : 'utf8', start, end);
  }
}

function keyOf([group, kind, namespace, name]: Head): ObjectKey {
  return Object.freeze({
    group: shared.own(group),
    kind: shared.own(kind),
    namespace: shared.own(namespace),
    name,
  });
}

/** Handles to the versions of a pack, in order of position. */
export function handlesIn(pack: Pack, keys: readonly ObjectKey[]): ObjectHandle[] {
  return keys.map((key, at) => new ObjectHandle(key, pack, at));
}
