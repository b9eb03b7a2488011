/** The state of the platform, in the engine that keeps it. */
import type { KindTable } from '../kinds/table.ts';
import { sealingCodec, strictCodec } from '../state/codec.ts';
import { openStore } from '../state/journaled-store.ts';
import { openLmdbEngine } from '../state/lmdb-engine.ts';
import { loadStateKey } from '../state/state-key.ts';
import type { Store } from '../state/store.ts';
import type { PlatformParts } from './platform-parts.ts';

export async function openState(
  { data, replicated, steps }: PlatformParts,
  kinds: KindTable,
  listener: { onError(error: unknown): void; onRecovered(): void },
): Promise<Store> {
  steps.begin('the state');
  const engine =
    replicated === undefined
      ? await openLmdbEngine(data.state, listener)
      : await replicated.openEngine('platform', listener);
  const secretKinds = new Set(
    kinds.kinds.filter((kind) => kind.secretPaths.length > 0).map((kind) => kind.kind),
  );
  const stateKey = loadStateKey(data.stateKey);
  const followed = replicated !== undefined;
  const codec = followed
    ? strictCodec(stateKey)
    : sealingCodec(stateKey, (key) => secretKinds.has(key.kind));
  return await openStore({ engine, codec, onError: listener.onError, followed });
}
