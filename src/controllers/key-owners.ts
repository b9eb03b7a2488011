/**
 * Reports in the status of an access key that its owner is gone, or was replaced by another one of
 * the same name. Authentication does not use it: it explains to people why a key does not work.
 * Level-triggered: a round reads the present keys, so a missed event only causes a delay.
 */
import type { Clock } from '../apimachinery/index.ts';
import { WorkQueue } from '../concurrency/index.ts';
import { KEY_KIND, type KindTable, OWNER_FOUND, ownerKindOf } from '../kinds/index.ts';
import { type Branch, reportProblems } from '../registry/index.ts';
import type { JournalEvent, Store } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface KeyOwnersOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly access: KeysByOwner;
}

interface KeysByOwner {
  /** Names of the keys that act as a user or team. */
  keysOf(as: 'user' | 'team', name: string): string[];
  /** Reason why the owner makes a key useless; undefined: it does not. */
  ownerProblem(keyName: string): { readonly reason: string; readonly message: string } | undefined;
}

/** Keys that are reconciled at the same time. */
const MAX_AT_ONCE = 100;

const REASONS: Readonly<Record<string, string>> = {
  'owner-missing': 'OwnerMissing',
  'owner-replaced': 'OwnerReplaced',
};

/** Resolves when no write is in progress. */
export type Stop = () => Promise<void>;

export function startKeyOwners(options: KeyOwnersOptions): Stop {
  const { kinds, store, access } = options;
  const [group = ''] = kinds.groups;
  const keys = { group, kind: KEY_KIND };
  const queue = new WorkQueue({
    workers: MAX_AT_ONCE,
    reconcile: async (name) => {
      // The index of keys observes the same change: let all observers be called first.
      await new Promise(setImmediate);
      await reportOwner(options, group, name);
    },
  });
  for (const { key } of store.list(keys).items) queue.add(key.name);
  const stops = [
    store.observe(keys, ({ current }: JournalEvent) => queue.add(current.key.name)),
    ...(['user', 'team'] as const).map((as) =>
      store.observe({ group, kind: ownerKindOf(as) }, ({ type, current }) => {
        // Most changes of a user or team do not start or end it.
        if (type === 'MODIFIED' && !current.terminating) return;
        for (const name of access.keysOf(as, current.key.name)) queue.add(name);
      }),
    ),
  ];
  return async () => {
    for (const stop of stops) stop();
    await queue.stop();
  };
}

async function reportOwner(options: KeyOwnersOptions, group: string, name: string): Promise<void> {
  const stored = options.store.get({ group, kind: KEY_KIND, namespace: '', name });
  if (stored === undefined || stored.terminating) return;
  const { logger, access } = options;
  const problem = access.ownerProblem(name);
  const reason = REASONS[problem?.reason ?? ''];
  const problems = problem && reason ? { reason, message: sentence(problem.message) } : undefined;
  const onError = (err: unknown): void =>
    logger.warn({ err, accessKey: name }, 'The status of an access key cannot be written');
  await reportProblems({ ...options, onError }, stored, { [OWNER_FOUND]: problems });
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
