/** The status of a commit in the payload of a delivery. */
import { isRecord } from '../../apimachinery/index.ts';
import type { CommitStatus } from '../../forges/index.ts';

const STATES = ['pending', 'success', 'failure', 'error'] as const;

/** Undefined: another version wrote it in another form. */
export function readStatus(value: unknown): CommitStatus | undefined {
  if (!isRecord(value)) return undefined;
  const { commit, context, description, url } = value;
  const state = STATES.find((one) => one === value['state']);
  if (typeof commit !== 'string' || !/^[0-9a-f]{40}$/.test(commit)) return undefined;
  if (typeof context !== 'string' || typeof description !== 'string') return undefined;
  if (state === undefined) return undefined;
  return { commit, context, description, state, ...(typeof url === 'string' && { url }) };
}
