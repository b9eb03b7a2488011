/**
 * Pushes are judged beside the branch. Whatever comes meanwhile, the result is that of one after the
 * other, each judged on what was there before it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { replay } from '../../../src/catalog/replay.ts';
import { FileMerger } from '../../../src/registry/pushes/merge/file-merger.ts';
import { PushedFiles } from '../../../src/registry/pushes/merge/pushed-files.ts';
import { mergeTrees } from '../../../src/registry/pushes/merge/tree-merge.ts';
import { picture } from '../../catalog/picture.ts';
import { expectSound, foreignCommit, git } from '../../support/git.ts';
import {
  kinds,
  openTestPlatform,
  type PlatformSetup,
  type TestPlatform,
  team,
} from '../../support/platform.ts';
import { forMilliseconds } from '../../support/properties.ts';

type Files = Readonly<Record<string, string | null>>;

function pushed(platform: TestPlatform, from: string, ...steps: readonly Files[]): string {
  let parent = from;
  for (const files of steps) {
    parent = foreignCommit(platform.repository.gitDir, { parents: [parent], files });
  }
  return parent;
}

interface Race {
  readonly platform: TestPlatform;
  readonly start: string;
  /** Number of judgements of a push. */
  judged(): number;
  /** Resolves when all of `meanwhile` has ended. */
  ended(): Promise<unknown>;
}

/**
 * `meanwhile` begins when a push of objects whose names start with "mine" is judged, the first `times`
 * times. A push that is judged beside the branch lands afterwards.
 */
async function race(
  base: Files,
  meanwhile: (platform: TestPlatform, start: string, time: number) => Promise<unknown>,
  { times = 1, ...setup }: Partial<PlatformSetup> & { times?: number } = {},
): Promise<Race> {
  const answered = new Set<number>();
  const running: Promise<unknown>[] = [];
  const isMeanwhile = new AsyncLocalStorage<boolean>();
  const { authorizer = { authorize: () => ({ allowed: true, reason: 'a test' }) } } = setup;
  let judgements = 0;
  const platform: TestPlatform = await openTestPlatform({
    ...setup,
    authorizer: {
      authorize: (user, asked) => {
        const answer = authorizer.authorize(user, asked);
        if (!('name' in asked) || asked.name !== 'mine' || isMeanwhile.getStore() === true)
          return answer;
        judgements += 1;
        const time = judgements;
        if (time <= times) {
          running.push(isMeanwhile.run(true, () => meanwhile(platform, start, time)));
        }
        return answer;
      },
    },
  });
  const start = await platform.commit(base);
  const { branch } = platform;
  const runExclusive = branch.runExclusive.bind(branch);
  branch.runExclusive = async (work) => {
    const isFirst = isMeanwhile.getStore() !== true && answered.size < running.length;
    if (isFirst) {
      answered.add(running.length);
      await Promise.allSettled(running);
    }
    return await runExclusive(work);
  };
  return { platform, start, judged: () => judgements, ended: () => Promise.allSettled(running) };
}

/** The platform is as if it had read all of history just now, and each merge as if made alone. */
async function expectSerial({ repository, branch }: TestPlatform): Promise<void> {
  const reader = fileReader(kinds, '');
  const { gitDir } = repository;
  const head = (await repository.head()) ?? '';
  const scratch = await replay({ repository, reader, under: '' }, head);
  expect(branch.state.catalog.revision).toBe(head);
  expect(picture(branch.state.catalog)).toEqual(picture(scratch.catalog));
  expectSound(gitDir);
  const merger = new FileMerger({ kinds, under: '' });
  const merges = git(gitDir, ['log', '--first-parent', '--merges', '--format=%H %P', head]);
  for (const line of merges.split('\n').filter((text) => text !== '')) {
    const [merge = '', tip = '', second = ''] = line.split(' ');
    const [base = '', ...others] = await repository.mergeBases(tip, second);
    expect(others).toEqual([]);
    const { catalog, view } = await replay({ repository, reader, under: '' }, tip);
    const replayed = (await replay({ repository, reader, under: '' }, second)).catalog;
    const files = new PushedFiles(reader);
    const context = { repository, files, merger, under: '', catalog, view, replayed };
    const { changes, conflicts } = await mergeTrees(context, { base, tip, pushed: second });
    expect(conflicts).toEqual([]);
    const batch = repository.begin(tip);
    const by = { name: 'a', email: 'a@b' };
    const { id } = await batch.add({
      changes,
      merged: second,
      author: by,
      committer: by,
      time: 1,
      message: 'again',
    });
    await batch.store();
    const trees = [merge, id].map((commit) => git(gitDir, ['rev-parse', `${commit}^{tree}`]));
    expect(trees[1]).toBe(trees[0]);
  }
  await merger.close();
}

const BASE: Files = {
  'mine.yaml': team('mine'),
  'other.yaml': team('other'),
  'third.yaml': team('third', { description: 'x' }),
};
const MINE: Files = { 'mine.yaml': team('mine', { displayName: 'pushed' }) };

/** Gives a team a description through the API. */
function describeTeam(platform: TestPlatform, name: string, description: string): Promise<unknown> {
  return platform.patch('teams', name, ({ spec }) => {
    spec.description = description;
  });
}

test('a write of another object, while a push is judged, waits for nothing, and both land', async () => {
  const { platform, start } = await race(BASE, (beside) => describeTeam(beside, 'other', 'new'));
  await platform.commit({ 'third.yaml': team('third') });

  const { verdict } = await platform.pushOpenly(pushed(platform, start, MINE));

  expect(verdict.lines).toEqual(['accepted: 0 created, 1 changed, 0 removed']);
  const subjects = git(platform.repository.gitDir, ['log', '-2', '--first-parent', '--format=%s']);
  expect(subjects.split('\n')).toEqual(['merge Team "mine"', 'patch Team "other"']);
  await expectSerial(platform);
});

test.each<[string, (platform: TestPlatform, start: string) => Promise<unknown>, RegExp]>([
  [
    'the same field',
    (platform) =>
      platform.patch('teams', 'mine', ({ spec }) => {
        spec.displayName = 'api';
      }),
    /Team "mine" spec.displayName: the branch has changed it/,
  ],
  [
    'a removal of the object',
    (platform) => platform.delete('teams', 'mine'),
    /Team "mine": the branch has removed it, and this push changes it/,
  ],
  [
    'an object of the same name in another file',
    (platform) => {
      const spec = { description: 'api' };
      return platform.create('teams', { metadata: { name: 'fresh' }, spec });
    },
    /Team "fresh" spec.description/,
  ],
])('%s, written while the push is judged, counts', async (_, meanwhile, problem) => {
  const { platform, start } = await race(BASE, meanwhile);
  await platform.commit({ 'third.yaml': team('third') });
  const files = { ...MINE, 'x/fresh.yaml': team('fresh', { description: 'pushed' }) };
  const push = pushed(platform, start, files);

  const { verdict } = await platform.pushOpenly(push);

  expect(verdict.ok).toBe(false);
  expect(verdict.lines.join('\n')).toMatch(problem);
  expect(platform.find('teams', 'mine')?.object.spec?.['displayName']).not.toBe('pushed');
  await expectSerial(platform);
});

test('a right that is taken away while a push is judged is missing', async () => {
  let allowed = true;
  const { platform, start } = await race(
    BASE,
    async (beside) => {
      // As a Role or a Team that is changed through the API.
      await describeTeam(beside, 'other', 'new');
      return undefined;
    },
    {
      authorizer: {
        authorize: () => {
          const answer = { allowed, reason: 'it was taken away' };
          allowed = false;
          return answer;
        },
      },
    },
  );
  await platform.commit({ 'third.yaml': team('third') });

  const { verdict } = await platform.pushOpenly(pushed(platform, start, MINE));

  expect(verdict.ok).toBe(false);
  expect(verdict.lines[0]).toContain('cannot update teams: it was taken away');
});

test('the prune budget counts the objects that are there when the push lands', async () => {
  const names = ['mine', 'mine2', 'mine3', 'a', 'b', 'c', 'd'];
  const files = Object.fromEntries(names.map((name) => [`${name}.yaml`, team(name)]));
  const { platform, start } = await race(
    files,
    async (beside) => {
      await Promise.all(['a', 'b', 'c'].map((name) => beside.delete('teams', name)));
    },
    { budget: { objects: 1, percent: 50 } },
  );
  await platform.commit({ 'new.yaml': team('new') });
  const removals = { 'mine.yaml': null, 'mine2.yaml': null, 'mine3.yaml': null };

  const { verdict } = await platform.pushOpenly(pushed(platform, start, removals));

  expect(verdict.ok).toBe(false);
  expect(verdict.lines.join('\n')).toContain('3 of');
});

test('rules for files that come while a push is judged count for it', async () => {
  const { platform, start, judged } = await race(BASE, async (beside, from) => {
    await beside.pushOpenly(pushed(beside, from, { '.gitplaneignore': 'none/\n' }));
  });
  await platform.commit({ 'third.yaml': team('third') });

  const { verdict } = await platform.pushOpenly(pushed(platform, start, MINE));

  expect(verdict.ok).toBe(true);
  expect(judged()).toBeGreaterThan(1);
  await expectSerial(platform);
});

test('a push of a commit that another push lands meanwhile, with its revert, takes it back', async () => {
  let first = '';
  const { platform, start } = await race(BASE, (beside) => beside.pushOpenly(first));
  await platform.commit({ 'third.yaml': team('third') });
  first = pushed(platform, start, { 'other.yaml': team('other', { description: 'first' }) });
  const second = pushed(platform, first, { 'other.yaml': team('other') }, MINE);

  const { verdict } = await platform.pushOpenly(second);

  expect(verdict.ok).toBe(true);
  expect(platform.find('teams', 'other')?.object.spec).toEqual({});
  await expectSerial(platform);
});

test('a push whose object is written again and again lands after a bounded number of tries', async () => {
  const { platform, start, judged, ended } = await race(
    BASE,
    (beside, _, time) => describeTeam(beside, 'mine', `time ${time}`),
    { times: 100 },
  );
  await platform.commit({ 'third.yaml': team('third') });

  const { verdict } = await platform.pushOpenly(pushed(platform, start, MINE));

  expect(verdict.ok).toBe(true);
  await ended();
  expect(judged()).toBe(4);
  expect(platform.find('teams', 'mine')?.object.spec).toMatchObject({ displayName: 'pushed' });
  await expectSerial(platform);
});

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const name = fc.constantFrom(...NAMES);
const edit = fc.record({
  name,
  is: fc.constantFrom('team', 'team', 'moved team', 'user', 'key'),
  removes: fc.boolean(),
});
const step = fc.oneof(
  fc.record({ do: fc.constantFrom('patch', 'delete', 'create'), name }),
  // Owners of access keys.
  fc.record({ do: fc.constantFrom('delete user', 'create user'), name }),
  fc.record({
    do: fc.constant('push'),
    age: fc.nat(3),
    commits: fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 2,
    }),
  }),
);
type RandomStep = typeof step extends fc.Arbitrary<infer T> ? T : never;
type RandomEdit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

const GROUP = 'apiVersion: management.gitplane.dev/v1\n';

function changesOf({ name: of, is, removes }: RandomEdit, mark: string): [string, string | null][] {
  const written = (path: string, text: string): [string, string | null] => [
    path,
    removes ? null : text,
  ];
  const head = (kind: string): string => `${GROUP}kind: ${kind}\nmetadata:\n  name: ${of}\n`;
  const text = team(of, { displayName: mark });
  if (is === 'user') return [written(`user-${of}.yaml`, `${head('User')}spec: {}\n`)];
  if (is === 'key') {
    const spec = `spec:\n  user: ${of}\n  key: sha256:${'0'.repeat(64)}\n`;
    return [written(`key-${of}.yaml`, `${head('OwnedAccessKey')}${spec}`)];
  }
  if (is === 'team') return [written(`${of}.yaml`, text)];
  return [[`${of}.yaml`, null], written(`moved/${of}.yaml`, text)];
}

test('random writes and pushes at once come to what they would come to one after the other', {
  timeout: 120_000,
}, async () => {
  let landed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 14 }),
      forMilliseconds(20_000, async (steps) => {
        const platform = await openTestPlatform();
        const files = Object.fromEntries(NAMES.map((one) => [`${one}.yaml`, team(one)]));
        const tips = [await platform.commit(files)];
        let serial = 0;
        const start = async (one: RandomStep): Promise<unknown> => {
          serial += 1;
          const mark = `${serial}`;
          if ('commits' in one) {
            const from = tips[Math.max(0, tips.length - 1 - one.age)] ?? '';
            const changes = one.commits.map((edits, i) =>
              Object.fromEntries(edits.flatMap((change) => changesOf(change, `${mark} ${i}`))),
            );
            const { verdict } = await platform.pushOpenly(pushed(platform, from, ...changes));
            if (verdict.ok) landed += 1;
            return verdict;
          }
          const plural = one.do.endsWith('user') ? 'users' : 'teams';
          if (one.do.startsWith('delete')) return await platform.delete(plural, one.name);
          if (one.do === 'patch') return await describeTeam(platform, one.name, `api ${mark}`);
          return await platform.create(plural, { metadata: { name: one.name }, spec: {} });
        };
        // Two batches, so that bases are of different ages.
        for (const part of [steps.slice(0, steps.length / 2), steps.slice(steps.length / 2)]) {
          await Promise.allSettled(part.map(start));
          tips.push((await platform.repository.head()) ?? '');
        }
        await expectSerial(platform);
        await platform.close();
      }),
    ),
    { numRuns: 25 },
  );
  expect(landed).toBeGreaterThan(0);
});
