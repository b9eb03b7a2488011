/** The window of recent steps: how far back a base is known without a replay of history. */
import { expect, test } from 'vitest';
import { RecentSteps } from '../../src/catalog/recent-steps.ts';
import { UndoLog } from '../../src/catalog/undo-log.ts';

/** Steps of a create each: a file, an object and a claim. */
function creates(count: number): RecentSteps {
  const recent = new RecentSteps();
  const maps = [new Map(), new Map(), new Map()];
  for (let i = 0; i < count; i += 1) {
    const undo = new UndoLog();
    for (const map of maps) undo.map(map, i);
    recent.add({ before: { id: `commit-${i}`, committerTime: i }, undo });
  }
  return recent;
}

test('a base 45,000 creates ago is known', () => {
  const past = creates(45_000).since('commit-0');
  expect(past?.at.committerTime).toBe(0);
  expect(past?.undos.length).toBe(45_000);
});

test('a base further back than the window is forgotten, and a newer one is known', () => {
  const recent = creates(60_000);
  expect(recent.since('commit-0')).toBeUndefined();
  expect(recent.since('commit-59000')?.undos.length).toBe(1000);
});
