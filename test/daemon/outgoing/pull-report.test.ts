/** The words about a plan on a forge: what they have, and what they never have. */
import { expect, test } from 'vitest';
import { readAnnotations, readComment } from '../../../src/daemon/outgoing/pull-payload.ts';
import { reportOn } from '../../../src/daemon/outgoing/pull-report.ts';
import type { Plan, PlanChange } from '../../../src/history/plan.ts';

const context = { head: 'a'.repeat(40), base: 'b'.repeat(40), branch: 'main', url: undefined };
const NONE = { create: 0, update: 0, delete: 0, recreate: 0, move: 0 };
const EMPTY: Plan = {
  from: context.base,
  to: context.head,
  verdict: 'accepted',
  summary: NONE,
  changes: [],
  problems: [],
  warnings: [],
  objections: [],
};

function report(
  plan: Partial<Plan>,
  { prunes = 0, encrypted = [] }: { prunes?: number; encrypted?: string[] } = {},
) {
  const whole = { ...EMPTY, ...plan };
  return reportOn({ is: 'planned', plan: whole, prunes, encrypted: new Set(encrypted) }, context);
}

function change(more: Partial<PlanChange> = {}): PlanChange {
  return {
    verb: 'update',
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'Team',
    name: 'a',
    path: 'teams/a.yaml',
    fields: [],
    ...more,
  };
}

const problem = { path: 'teams/a.yaml', line: 3, col: 5, message: 'is wrong' };

test.each<[string, Partial<Plan>, number, string, string]>([
  ['nothing', {}, 0, 'success', 'Validated: no object changes'],
  [
    'changes',
    { summary: { ...NONE, create: 2, recreate: 1, move: 1 } },
    0,
    'success',
    'Validated: 2 created, 1 made anew, 1 moved',
  ],
  ['a hold', { verdict: 'held' }, 14, 'pending', 'Held: it removes 14 objects'],
  [
    'problems',
    { verdict: 'refused', problems: [problem, problem] },
    0,
    'failure',
    'Not valid: teams/a.yaml:3:5: is wrong (and 1 more)',
  ],
  [
    'an objection',
    { verdict: 'refused', objections: ['no signature'] },
    0,
    'failure',
    'Refused: no signature',
  ],
])('%s', (_title, plan, prunes, state, description) => {
  expect(report(plan, { prunes })).toMatchObject({ state, description });
});

test.each([
  [{ is: 'conflict', paths: ['a.yaml', 'b.yaml'] } as const, 'Conflict: a.yaml (and 1 more)'],
  [{ is: 'refused', reasons: ['it is huge'] } as const, 'Not planned: it is huge'],
])('%j', (outcome, description) => {
  expect(reportOn(outcome, context)).toMatchObject({ state: 'failure', description });
});

test('values of fields are never shown, and secret ones are marked', () => {
  const fields = [
    { path: 'spec.description', before: 'old-value', after: 'new-value' },
    { path: 'spec.data.password', masked: true as const },
  ];
  const { body } = report({ changes: [change({ fields })] });
  expect(body).toContain(
    '! Team "a" (teams/a.yaml): spec.description, spec.data.password (secret)',
  );
  expect(body).not.toMatch(/(old|new)-value/);
});

test('names and rights in an encrypted file are not shown', () => {
  const changes = [
    change({
      name: 'hidden-name',
      namespace: 'hidden-namespace',
      access: [{ effect: 'opens', subject: { kind: 'User', name: 'hidden-user' }, role: 'admin' }],
    }),
  ];
  const found = report({ changes }, { encrypted: ['teams/a.yaml'] });
  expect(JSON.stringify(found)).not.toContain('hidden');
  expect(found.body).toContain('! Team (teams/a.yaml)');
  const moved = { changes: [change({ name: 'hidden', previousPath: 'old.yaml', verb: 'move' })] };
  expect(report(moved, { encrypted: ['old.yaml'] }).body).not.toContain('hidden');
});

test('texts of others have no effect in Markdown', () => {
  const hostile = '```\n<img src=x> @everyone [x](http://x) \u202e';
  const problems = [{ ...problem, message: hostile }];
  const { body } = report({ problems, verdict: 'refused', changes: [change({ name: hostile })] });
  const outside = body.replace(/(`{3,})[a-z]*\n[\s\S]*?\n\1/g, '');
  expect(outside).not.toMatch(/img|@everyone|http/);
  expect(body).not.toContain('\u202e');
});

test('a comment stays below the limit of GitHub, and counts what it leaves out', () => {
  const long = 'x'.repeat(1000);
  const problems = Array.from({ length: 3000 }, () => ({ ...problem, message: long }));
  const changes = Array.from({ length: 3000 }, () => change({ name: long }));
  const found = report({
    problems,
    changes,
    warnings: problems,
    objections: problems.map(({ message }) => message),
    verdict: 'refused',
  });
  expect(found.body.length).toBeLessThan(65_536);
  expect(found.body).toContain('… and 2900 more');
  expect(found.annotations).toHaveLength(50);
});

test.each([
  [readComment, { number: 7, marker: 'm' }],
  [readComment, 'text'],
  [readAnnotations, { number: 7, commit: 'c' }],
  [readAnnotations, { number: '7', commit: 'c', lines: [] }],
])('a payload of another form is not read', (read, value) => {
  expect(read(value)).toBeUndefined();
});

test('lines of another form are left out', () => {
  const line = { path: 'a', line: 1, message: 'm', isError: true };
  const lines = [line, { ...line, line: '1' }, 'x'];
  expect(readAnnotations({ number: 7, commit: 'c', lines })?.annotations).toEqual([line]);
});

test('access beyond what a comment shows is counted, and put into no words', () => {
  let read = 0;
  const opens = () => ({
    effect: 'opens' as const,
    get subject() {
      read += 1;
      return { kind: 'User', name: 'ada' };
    },
    role: 'ClusterRole/ops',
  });
  const changes = Array.from({ length: 100 }, () => change({ access: [opens(), opens()] }));

  expect(report({ changes }).body).toContain('… and 160 more');
  expect(read).toBeLessThan(200);
});
