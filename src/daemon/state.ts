/** The state of the platform, in the engine that keeps it. */
import { existsSync } from 'node:fs';
import type { KindTable } from '../kinds/table.ts';
import { sealingCodec, strictCodec } from '../state/codec.ts';
import { openStore } from '../state/journaled-store.ts';
import { openLmdbEngine } from '../state/lmdb-engine.ts';
import { loadStateKey } from '../state/state-key.ts';
import type { Store } from '../state/store.ts';
import type { PlatformParts } from './platform-parts.ts';

export interface OpenedState {
  readonly store: Store;
  /** Loss of the state that a former start had, in words that may be public. */
  readonly loss: string | undefined;
}

export async function openState(
  { data, replicated, steps, logger }: PlatformParts,
  kinds: KindTable,
  listener: { onError(error: unknown): void; onRecovered(): void },
): Promise<OpenedState> {
  steps.begin('the state');
  // A former start makes the key before the state is filled, and the other files after that.
  const { stateKey: keyFile, adminToken, hookSecret, kubeconfig } = data;
  const isKnown = existsSync(keyFile) && [adminToken, hookSecret, kubeconfig].some(existsSync);
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
  const store = await openStore({ engine, codec, onError: listener.onError, followed });
  if (followed || !isKnown || !store.pristine) return { store, loss: undefined };
  logger.warn({ place: data.state, remedy: REMEDY }, LOSS);
  return { store, loss: LOSS };
}

const LOSS =
  'The state was empty at the start, and is rebuilt from git: pending deletions, status, sign-in sessions and revocations are lost';
const REMEDY =
  'If nobody removed it on purpose, stop the daemon, put back a backup of the state directory and start again';
