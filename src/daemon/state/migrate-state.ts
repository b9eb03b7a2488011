/**
 * Copies a state from one engine to another, records and versions as they are, sealed with the key of
 * the new place. The target counts for nothing before everything was read back from it.
 */

import {
  type EngineEntry,
  type EngineWrite,
  EVENT_PREFIX,
  META_KEY,
  MIGRATION_KEY,
  openStore,
  type RecordCodec,
  type StateEngine,
  StateError,
} from '../../state/index.ts';

export interface StateLocation {
  readonly codec: RecordCodec;
  /** Whether clients are served by stores that follow it. */
  readonly followed: boolean;
  open(): Promise<StateEngine>;
}

const BATCH_RECORDS = 64;
const BATCH_BYTES = 256 * 1024;

/**
 * Returns how many records were copied. Throws StateError, with the target as it was or marked as
 * half of a state, when something is in the way.
 */
export async function migrateState(from: StateLocation, to: StateLocation): Promise<number> {
  const target = await to.open();
  try {
    await makeRoom(target);
    await settle(from);
    const source = await from.open();
    try {
      return await copy({ engine: source, codec: from.codec }, { engine: target, codec: to.codec });
    } finally {
      await source.close();
    }
  } finally {
    await target.close();
  }
}

/** Ends what the last run left open, so that versions go on where clients have seen them last. */
async function settle({ open, codec, followed }: StateLocation): Promise<void> {
  const onError = (): void => undefined;
  const store = await openStore({ engine: await open(), codec, onError, followed });
  await store.close();
}

/** Only what an earlier attempt left may be there, and it goes. */
async function makeRoom(target: StateEngine): Promise<void> {
  const keys: string[] = [];
  for await (const [key] of target.load('')) keys.push(key);
  if (keys.length === 0) return;
  if (!keys.includes(MIGRATION_KEY)) {
    throw new StateError(
      `there is a state in ${target.place} already; delete it when it is not needed, or choose another place`,
    );
  }
  const rest = keys.filter((key) => key !== MIGRATION_KEY);
  for (let at = 0; at < rest.length; at += BATCH_RECORDS) {
    target.write(rest.slice(at, at + BATCH_RECORDS).map((key) => ({ key, value: undefined })));
    await target.flush();
  }
}

interface Side {
  readonly engine: StateEngine;
  readonly codec: RecordCodec;
}

async function copy(source: Side, target: Side): Promise<number> {
  const { engine, codec } = target;
  engine.write([{ key: MIGRATION_KEY, value: Buffer.from('{}') }]);
  let batch: EngineWrite[] = [];
  let bytes = 0;
  let count = 0;
  let meta: Buffer | undefined;
  const write = async (): Promise<void> => {
    engine.write(batch);
    batch = [];
    bytes = 0;
    await engine.flush();
  };
  for await (const [key, plain] of plainRecords(source)) {
    count++;
    const value = codec.encode(key, plain, true);
    if (key === META_KEY) {
      meta = value;
      continue;
    }
    batch.push({ key, value });
    bytes += value.length;
    if (batch.length >= BATCH_RECORDS || bytes >= BATCH_BYTES) await write();
  }
  await write();
  await verify(source, target);
  engine.write([
    { key: MIGRATION_KEY, value: undefined },
    ...(meta === undefined ? [] : [{ key: META_KEY, value: meta }]),
  ]);
  await engine.flush();
  return count;
}

/** What followers read of the past means nothing elsewhere: they begin anew there. */
async function* plainRecords({ engine, codec }: Side): AsyncGenerator<EngineEntry> {
  for await (const [key, bytes] of engine.load('')) {
    if (key.startsWith(EVENT_PREFIX) || key === MIGRATION_KEY) continue;
    yield [key, codec.decode(key, bytes)];
  }
}

async function verify(source: Side, target: Side): Promise<void> {
  const copied = plainRecords(target);
  for await (const [key, plain] of plainRecords(source)) {
    if (key === META_KEY) continue;
    const { value } = await copied.next();
    if (value?.[0] === key && plain.equals(value[1])) continue;
    throw new StateError(`${key} cannot be read back from ${target.engine.place}`);
  }
  const { done } = await copied.next();
  if (done !== true) throw new StateError(`${target.engine.place} has more than was copied to it`);
}
