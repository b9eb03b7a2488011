/**
 * Copies a state from one engine to another: same records and versions, encrypted with the key of the
 * target. The target is valid only after every record was read back from it.
 */
import { Counter, Progress } from '../../concurrency/index.ts';
import {
  decompress,
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
  /** True if following stores serve clients from it. */
  readonly followed: boolean;
  open(): Promise<StateEngine>;
}

const BATCH_RECORDS = 64;
const BATCH_BYTES = 256 * 1024;

/**
 * Returns the number of records copied. On failure throws StateError; the target is then unchanged or
 * marked as incomplete.
 */
export async function migrateState(
  from: StateLocation,
  to: StateLocation,
  progress: Pick<Progress, 'begin'> = new Progress(),
): Promise<number> {
  const target = await to.open();
  try {
    await clearRemains(target);
    await completeLastRun(from);
    const source = await from.open();
    try {
      const [one, other] = [
        { engine: source, codec: from.codec },
        { engine: target, codec: to.codec },
      ];
      return await copy(one, other, progress);
    } finally {
      await source.close();
    }
  } finally {
    await target.close();
  }
}

/** Completes the last run of a store, so that versions continue where clients have seen them. */
async function completeLastRun({ open, codec, followed }: StateLocation): Promise<void> {
  const onError = (): void => undefined;
  const store = await openStore({ engine: await open(), codec, onError, followed });
  await store.close();
}

/** Removes the remains of an earlier attempt. Throws for any other state. */
async function clearRemains(target: StateEngine): Promise<void> {
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

async function copy(
  source: Side,
  target: Side,
  progress: Pick<Progress, 'begin'>,
): Promise<number> {
  const { engine, codec } = target;
  engine.write([{ key: MIGRATION_KEY, value: Buffer.from('{}') }]);
  let batch: EngineWrite[] = [];
  let bytes = 0;
  const copied = new Counter();
  progress.begin('copying', { unit: 'records', counter: copied });
  let meta: Buffer | undefined;
  const write = async (): Promise<void> => {
    engine.write(batch);
    batch = [];
    bytes = 0;
    await engine.flush();
  };
  for await (const [key, plain] of plainRecords(source)) {
    copied.advance();
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
  const verified = new Counter();
  verified.expect(copied.done);
  progress.begin('reading back', { unit: 'records', counter: verified });
  await verify(source, target, verified);
  engine.write([
    { key: MIGRATION_KEY, value: undefined },
    ...(meta === undefined ? [] : [{ key: META_KEY, value: meta }]),
  ]);
  await engine.flush();
  return copied.done;
}

/** Plain records, for every release, without the event history of followers, which is meaningless in another engine. */
async function* plainRecords({ engine, codec }: Side): AsyncGenerator<EngineEntry> {
  for await (const [key, bytes] of engine.load('')) {
    if (key.startsWith(EVENT_PREFIX) || key === MIGRATION_KEY) continue;
    yield [key, decompress(codec.decode(key, bytes))];
  }
}

async function verify(source: Side, target: Side, counter: Counter): Promise<void> {
  const copied = plainRecords(target);
  for await (const [key, plain] of plainRecords(source)) {
    counter.advance();
    if (key === META_KEY) continue;
    const { value } = await copied.next();
    if (value?.[0] === key && plain.equals(value[1])) continue;
    throw new StateError(`${key} cannot be read back from ${target.engine.place}`);
  }
  const { done } = await copied.next();
  if (done !== true) throw new StateError(`${target.engine.place} has more than was copied to it`);
}
