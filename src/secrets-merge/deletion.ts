/**
 * Deletes an object on one side, in the version that was read, because it is gone on the other
 * side.
 */
import type { Step } from './decide.ts';
import type { Observation } from './observe.ts';
import type { SyncRecord } from './sync-record.ts';

export type DeletionStep = Step & { do: 'delete-in-store' | 'delete-in-git' };

/** False: another writer changed the object in git meanwhile, and it stays. */
export async function deleteObject(
  record: SyncRecord,
  { git, store }: Observation,
  step: DeletionStep,
): Promise<boolean> {
  if (step.do === 'delete-in-store') {
    const { createdTime } = store.state === 'absent' ? { createdTime: undefined } : store.at;
    await record.task.store.deleteVersion(step.version, createdTime);
  } else if (git === undefined || !(await record.task.git.remove(git))) return false;
  await record.forget();
  return true;
}
