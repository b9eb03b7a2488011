/**
 * One history, three ways to its catalog: commit by commit as the branch moves, from scratch, and
 * from the notes of an earlier run. They must not differ in anything that anyone can see
 * (invariants 9 and 12).
 */
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keyString } from '../../src/apimachinery/key.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { fileReader } from '../../src/catalog/file.ts';
import { replay } from '../../src/catalog/replay.ts';
import { restore } from '../../src/catalog/restore.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { DesiredState } from '../../src/registry/desired-state.ts';
import { conditionsOf, DEGRADED } from '../../src/registry/served.ts';
import { sealingCodec } from '../../src/state/codec.ts';
import { openStore } from '../../src/state/journaled-store.ts';
import { MemoryEngine } from '../../src/state/memory-engine.ts';
import type { Store } from '../../src/state/store.ts';
import { git, openForTest } from '../support/git.ts';
import { randomSteps, writeHistory } from './random-history.ts';

/** How long to look for a counterexample, in runs. */
const RUNS = Number(process.env['GITPLANE_TEST_HISTORIES'] ?? 25);

const kinds = buildKindTable('management.gitplane.dev');
const reader = fileReader(kinds, '');
const observer = {
  published: () => undefined,
  applied: () => undefined,
  replayed: () => undefined,
};

async function openMemoryStore(disk: Map<string, Buffer>): Promise<Store> {
  const codec = sealingCodec(Buffer.alloc(32, 7), () => false);
  const store = await openStore({
    engine: new MemoryEngine(disk),
    codec,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  return store;
}

/** Everything that a catalog knows, in an order that does not depend on how it came about. */
function picture(catalog: Catalog): unknown {
  const byText = (a: string, b: string): number => (a < b ? -1 : 1);
  const objects = [...catalog.objects()]
    .map((object) => ({ id: keyString(object.key), ...object }))
    .sort((a, b) => byText(a.id, b.id));
  const files = [...catalog.files()]
    .map(({ path, blob, documents }) => ({
      path,
      blob,
      documents: documents.map(({ warnings: _seenByPushersOnly, ...document }) => document),
    }))
    .sort((a, b) => byText(a.path, b.path));
  const claims = objects.map(({ key }) =>
    catalog
      .claims(key)
      .map(({ path, index }) => `${path}#${index}`)
      .sort(byText),
  );
  const { at, rootCommit } = catalog;
  // By way of JSON: a field that is undefined is one that is not there.
  return JSON.parse(
    JSON.stringify({ at, rootCommit, objects, files, claims, problems: catalog.problems() }),
  );
}

/** What readers are served, as far as it follows from history. */
function served(store: Store): unknown {
  return kinds.kinds.flatMap(({ group, kind }) =>
    store.list({ group, kind }).items.map(({ object }) => {
      const { resourceVersion: _journal, ...metadata } = object.metadata;
      const degraded = conditionsOf(object.status).find(({ type }) => type === DEGRADED)?.message;
      return { kind: object.kind, metadata, spec: object.spec, degraded };
    }),
  );
}

describe('a catalog', () => {
  test(
    'is the same commit by commit, from scratch, and from the notes of an earlier run',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          randomSteps,
          fc.array(fc.nat(4), { minLength: 1 }),
          async (steps, strides) => {
            const repository = await openForTest();
            const line = writeHistory(repository.gitDir, steps);
            const open = (store: Store): Promise<DesiredState> =>
              DesiredState.open({
                repository,
                store,
                kinds,
                reader,
                under: '',
                clock: { now: () => 1_800_000_000_000 },
                rules: 'r1',
                observer,
              });
            const disk = new Map<string, Buffer>();
            let store = await openMemoryStore(disk);
            let state = await open(store);
            for (const [i, at] of stops(line, strides).entries()) {
              git(repository.gitDir, ['update-ref', 'refs/heads/main', at]);
              await state.catchUp();

              const scratch = await replay({ repository, reader, under: '' }, at);
              expect(picture(state.catalog)).toEqual(picture(scratch.catalog));
              expect(state.view.ignoreBlob).toBe(scratch.view.ignoreBlob);
              const kept = restore(store, 'r1');
              expect(kept && picture(kept.catalog)).toEqual(picture(scratch.catalog));
              expect(kept?.ignoreBlob).toBe(scratch.view.ignoreBlob);

              const fresh = await openMemoryStore(new Map());
              await (await open(fresh)).catchUp();
              expect(served(store)).toEqual(served(fresh));
              await fresh.close();
              // Every other time the way goes on from a restart.
              if (i % 2 === 1) {
                await store.close();
                store = await openMemoryStore(disk);
                state = await open(store);
              }
            }
            await store.close();
            await repository.close();
          },
        ),
        { numRuns: RUNS, ...(RUNS > 25 ? { interruptAfterTimeLimit: RUNS * 2000 } : {}) },
      );
    },
    Math.max(30_000, RUNS * 3000),
  );
});

/** Some commits of a line in their order, the last one among them. */
function stops(line: readonly string[], strides: readonly number[]): string[] {
  const chosen: string[] = [];
  for (let at = 0, i = 0; at < line.length; i++) {
    chosen.push(line[at] as string);
    at += 1 + (strides[i % strides.length] ?? 0);
  }
  if (chosen.at(-1) !== line.at(-1)) chosen.push(line.at(-1) as string);
  return chosen;
}
