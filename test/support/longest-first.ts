/**
 * The order of test files: those with a process of their own first, the longest before all others, so
 * that no long one is left at the end; then those that share processes, in one row, so that a process
 * goes from one to the next.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long however fast the machine is: they wait for leases, backoffs and deadlines. */
const LONG = [
  'hostile/hostile-repositories',
  'faults/rolling-upgrade',
  'git/remote/following',
  'e2e/replicas-restored-etcd',
  'git/crash',
  'e2e/push-limits',
  'git/wal/wal-publisher',
  'endpointsync/hostile',
  'faults/crash',
  'faults/replicas',
  'clients/go-clients',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = new Map(sorted.map((file) => [file, rankOf(file)]));
    return sorted.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  if (project.config.isolate === false) return LONG.length + 1;
  const long = LONG.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return long === -1 ? LONG.length : long;
}
