/** The window of recent steps: how far back a base is known without a replay of history. */
import { expect, test } from 'vitest';
import type { FileEntry } from '../../src/catalog/file.ts';
import { RecentSteps, type SideStep } from '../../src/catalog/recent-steps.ts';
import { UndoLog } from '../../src/catalog/undo-log.ts';

/** Steps of a create each: a file, an object and a claim. */
function creates(count: number): RecentSteps {
  const recent = new RecentSteps();
  const maps = [new Map(), new Map(), new Map()];
  for (let i = 0; i < count; i += 1) {
    const undo = new UndoLog();
    for (const map of maps) undo.map(map, i);
    recent.add({ before: { id: `commit-${i}`, committerTime: i }, undo, notable: [] });
  }
  return recent;
}

test('a base 45,000 creates ago is known', () => {
  const recent = creates(45_000);
  expect(recent.stepAfter('commit-0', recent.next)).toMatchObject({ step: 0 });
});

test('a base further back than the window is forgotten, and a newer one is known', () => {
  const recent = creates(60_000);
  expect(recent.stepAfter('commit-0', recent.next)).toBeUndefined();
  expect(recent.stepAfter('commit-59000', recent.next)).toMatchObject({ step: 59_000 });
});

test('steps that a reader holds stay in the window until it is released', () => {
  const recent = new RecentSteps();
  const map = new Map([['a', 0]]);
  const write = (i: number): void => {
    const undo = new UndoLog();
    undo.map(map, 'a');
    map.set('a', i + 1);
    recent.add({ before: { id: `commit-${i}`, committerTime: i }, undo, notable: [] });
  };
  const hold = recent.hold();
  const past = recent.chains.before(hold.step, map);
  for (let i = 0; i < 150_000; i += 1) write(i);
  expect([past.get('a'), map.get('a')]).toEqual([0, 150_000]);
  recent.release(hold);
  write(150_000);
  expect(recent.stepAfter('commit-0', recent.next)).toBeUndefined();
  expect(recent.stepAfter('commit-149999', recent.next)).toMatchObject({ step: 149_999 });
});

test('commits of merges are kept while their documents are few: a view applies them again', () => {
  const recent = new RecentSteps();
  const document = { index: 0, key: undefined, manifest: undefined, problems: [], warnings: [] };
  const side = (id: string, documents: number): SideStep => {
    const blob = '0'.repeat(40);
    const file: FileEntry = {
      path: 'a.yaml',
      blob,
      documents: new Array(documents).fill({ ...document, line: 1, blob }),
    };
    return { commit: { id, committerTime: 1 }, parents: [], files: new Map([['a.yaml', file]]) };
  };
  recent.addSides([side('small', 10), side('one', 9_000), side('two', 9_000)]);
  expect(recent.sidesTo('small')).toHaveLength(1);
  recent.addSides([side('three', 9_000)]);
  expect(['small', 'one', 'two', 'three'].map((id) => recent.sidesTo(id).length)).toEqual([
    0, 0, 1, 1,
  ]);
});
