/** What an engine holds of a store: reading all of it at the start, writing what changes. */
import type { RecordCodec } from './codec.ts';
import type { EngineWrite, StateEngine } from './engine.ts';
import {
  decodeNote,
  decodeObject,
  encodeNote,
  encodeObject,
  NOTE_PREFIX,
  noteRecordKey,
  OBJECT_PREFIX,
  objectRecordKey,
} from './record.ts';
import { unreadableState } from './state-error.ts';
import type { JournalEvent, StoredObject } from './store.ts';
import type { PersistedVersions } from './versions.ts';

const META_KEY = 'm/store';
const FORMAT = 1;

/** Beside the versions: how much there must be, for an engine that loses records without a word. */
export interface Meta extends PersistedVersions {
  readonly objects: number;
  readonly notes: number;
}

export interface SavedState {
  readonly meta: Meta | undefined;
  readonly objects: readonly StoredObject[];
  /** As JSON. */
  readonly notes: ReadonlyMap<string, string>;
  /** Records that were kept plain and are to be sealed, since their kind has become secret. */
  readonly reseal: readonly EngineWrite[];
}

/** Throws StateError, with the place and the remedy, unless all of it can be read. */
export async function readState(engine: StateEngine, codec: RecordCodec): Promise<SavedState> {
  const objects: StoredObject[] = [];
  const notes = new Map<string, string>();
  const reseal: EngineWrite[] = [];
  let meta: Meta | undefined;
  for await (const [key, bytes] of engine.load('')) {
    const plain = decoded(engine, codec, [key, bytes]);
    try {
      if (key.startsWith(OBJECT_PREFIX)) {
        const stored = decodeObject(plain);
        objects.push(stored);
        if (codec.isSecret(stored.key) && !codec.isSealed(bytes)) {
          reseal.push({ key, value: codec.encode(key, plain.toString(), true) });
        }
      } else if (key.startsWith(NOTE_PREFIX)) notes.set(...decodeNote(plain));
      else meta = decodeMeta(plain);
    } catch (error) {
      // The cause is left out: a parser quotes what it could not parse, and that may be a secret.
      throw unreadableState(engine.place, `a record makes no sense (${(error as Error).name})`);
    }
  }
  if ((meta?.objects ?? 0) !== objects.length || (meta?.notes ?? 0) !== notes.size) {
    throw unreadableState(engine.place, 'records are missing');
  }
  return { meta, objects, notes, reseal };
}

function decoded(
  engine: StateEngine,
  codec: RecordCodec,
  [key, bytes]: readonly [string, Buffer],
): Buffer {
  try {
    return codec.decode(key, bytes);
  } catch (error) {
    throw unreadableState(
      engine.place,
      'it was sealed with another state key (put that one back) or is damaged',
      error,
    );
  }
}

function decodeMeta(plain: Buffer): Meta {
  const { format, ...meta } = JSON.parse(plain.toString()) as Meta & { format: number };
  if (format !== FORMAT) throw new Error('another format');
  return meta;
}

/** Always sealed, so that a wrong key is noticed whatever else is there. */
export function metaWrite(codec: RecordCodec, meta: Meta): EngineWrite {
  const plain = JSON.stringify({ format: FORMAT, ...meta });
  return { key: META_KEY, value: codec.encode(META_KEY, plain, true) };
}

export function eventWrite(codec: RecordCodec, { type, current }: JournalEvent): EngineWrite {
  const key = objectRecordKey(current.key);
  if (type === 'DELETED') return { key, value: undefined };
  return { key, value: codec.encode(key, encodeObject(current), codec.isSecret(current.key)) };
}

/** Notes are always sealed: nobody declares what may be in them. */
export function noteWrite(codec: RecordCodec, name: string, text: string | undefined): EngineWrite {
  const key = noteRecordKey(name);
  if (text === undefined) return { key, value: undefined };
  return { key, value: codec.encode(key, encodeNote(name, text), true) };
}
