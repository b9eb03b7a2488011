/** The state of the platform, in its engine. */
import { existsSync } from 'node:fs';
import { bootId } from '../../files/index.ts';
import {
  loadStateKey,
  openLmdbEngine,
  openStore,
  type RedoOptions,
  type Store,
  sealingCodec,
  strictCodec,
} from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { PlatformContext } from '../platform-context.ts';

export interface OpenedState {
  readonly store: Store;
  /** Loss of the state that a former start had, in words that may be public. */
  readonly loss: string | undefined;
  close(): Promise<void>;
}

interface StateContext extends PlatformContext {
  onError(error: unknown): void;
}

export async function openState(context: StateContext): Promise<OpenedState> {
  const { data, replicated, steps, logger, onError } = context;
  const onRecovered = (): void => logger.info('The state can be persisted again');
  const listener = { onError, onRecovered };
  steps.begin('opening the state');
  // A former start makes the key before the state is filled, and the other files after that.
  const { stateKey: keyFile, adminToken, hookSecret, kubeconfig } = data;
  const isKnown = existsSync(keyFile) && [adminToken, hookSecret, kubeconfig].some(existsSync);
  const engine =
    replicated === undefined
      ? await openLmdbEngine(data.state, listener)
      : await replicated.openEngine('platform', listener);
  const stateKey = loadStateKey(data.stateKey);
  const followed = replicated !== undefined;
  // A file may encrypt any value of any kind.
  const codec = followed ? strictCodec(stateKey) : sealingCodec(stateKey, () => true);
  const redo = redoLogIn(data.state, logger);
  const store = await openStore({ engine, codec, onError, followed, redo });
  const opened = { store, close: () => store.close() };
  if (followed || !isKnown || !store.pristine) return { ...opened, loss: undefined };
  logger.warn({ place: data.state, remedy: REMEDY }, LOSS);
  return { ...opened, loss: LOSS };
}

/** The redo log of a store, beside its engine. */
export function redoLogIn(directory: string, logger: Logger): RedoOptions {
  return {
    directory,
    boot: bootId(),
    onLost: (reason) => logger.warn({ reason }, 'After a crash watches will have to list again'),
    onUnused: (reason, isExpected) => {
      if (isExpected) logger.info({ place: directory, reason }, LIST_AGAIN);
      else logger.warn({ place: directory, reason }, LIST_AGAIN);
    },
  };
}

const LIST_AGAIN = 'The redo log of the former process cannot be used: watches list again';
const LOSS =
  'The state was empty at the start, and is rebuilt from git: pending deletions, status, sign-in sessions and revocations are lost';
const REMEDY =
  'If nobody removed it on purpose, stop the daemon, put back a backup of the state directory and start again';
