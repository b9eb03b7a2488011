/** Blames an object of many large versions, in the memory of a thread. */
import { parentPort } from 'node:worker_threads';
import type { CatalogObject } from '../../src/catalog/catalog-object.ts';
import { blameOf } from '../../src/history/blame.ts';
import type { CommitIndex } from '../../src/history/commit-index.ts';
import type { Moment, Timeline } from '../../src/history/timeline.ts';

const VERSIONS = 600;
const LARGE = 1_000_000;

function version(at: number): CatalogObject {
  return {
    identity: { uid: 'one' },
    get manifest() {
      return {
        apiVersion: 'v1',
        kind: 'X',
        metadata: { name: 'a' },
        spec: { data: { large: `${at}`.padEnd(LARGE, 'x'), small: 'same' } },
      };
    },
  } as unknown as CatalogObject;
}

const moments = new Map<number, Moment>();
for (let ordinal = 0; ordinal < VERSIONS; ordinal++) {
  const before = [moments.get(ordinal - 1)?.after];
  moments.set(ordinal, { ordinal, after: version(ordinal), before });
}
const index = { id: (at: number) => `commit-${at}`, time: (at: number) => at };
const timeline = { moments } as unknown as Timeline;
const blame = await blameOf(index as unknown as CommitIndex, timeline, VERSIONS);
parentPort?.postMessage(blame?.fields);
