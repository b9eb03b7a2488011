import { expect, test } from 'vitest';
import { PushVerdicts } from '../../../src/registry/pushes/push-verdicts.ts';

const problems = Array.from({ length: 100_000 }, (_, i) => ({
  path: `teams/t-${i}.yaml`,
  line: 1,
  col: 1,
  message: 'x'.repeat(200),
}));

function record(verdicts: PushVerdicts, revision: string): void {
  const verdict = { ok: false, lines: ['refused'], problems };
  verdicts.record({ time: 0, user: 'ann', revision, verdict });
}

test('a refusal of many problems is kept with the first of them, and counts all', () => {
  const verdicts = new PushVerdicts();

  record(verdicts, 'one');

  const kept = verdicts.refusalOf('one')?.problems ?? [];
  expect(kept).toEqual(problems.slice(0, kept.length));
  expect(kept.length).toBeGreaterThan(5_000);
  expect(kept.length).toBeLessThan(10_000);
  expect(verdicts.recent[0]).toMatchObject({ revision: 'one', problems: 100_000 });
});

test('many such refusals are not kept all', () => {
  const verdicts = new PushVerdicts();
  const revisions = Array.from({ length: 100 }, (_, i) => `push ${i}`);

  for (const revision of revisions) record(verdicts, revision);

  const kept = revisions.filter((one) => verdicts.refusalOf(one) !== undefined);
  expect(kept.length).toBeLessThan(10);
  expect(kept).toContain('push 99');
});
