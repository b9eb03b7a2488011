/** Writes of large manifests, which are edited and read in a thread. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { LargeEdits } from '../../../src/catalog/file-reader.ts';
import { LargeFiles } from '../../../src/catalog/reader-pool/large-files.ts';
import { ReaderPool } from '../../../src/catalog/reader-pool/reader-pool.ts';
import { git } from '../../support/git.ts';
import {
  fileOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';

const API_GROUP = 'management.gitplane.dev';
const RULES = 2000;

let at: GuardedPlatform;
let root: string;
/** The steps in the thread, in order. */
let steps: string[];

beforeEach(async () => {
  at = await openGuardedPlatform();
  await at.give(object('User', 'root', { spec: {} }), ...grant('root', '* *', 'User:root'));
  root = await at.giveKey('root', { user: 'root' });
  const pool = new ReaderPool({ apiGroup: API_GROUP, under: '' });
  onTestFinished(() => pool.close());
  steps = [];
  const counted = <A extends unknown[], R>(step: string, run: (...of: A) => Promise<R>) => {
    return (...of: A): Promise<R> => {
      steps.push(step);
      return run(...of);
    };
  };
  const edits: LargeEdits = {
    documentValue: counted('value', (...of) => pool.edits.documentValue(...of)),
    editDocument: counted('edit', (...of) => pool.edits.editDocument(...of)),
    readFile: counted('read', (...of) => pool.edits.readFile(...of)),
  };
  Object.assign(at.platform.branch.reader, {
    pool: {
      read: pool.read.bind(pool),
      readLarge: pool.readLarge.bind(pool),
      encryptionIn: pool.encryptionIn.bind(pool),
      edits,
    },
  });
});

function rules(user: string) {
  return Array.from({ length: RULES }, (_, i) => ({ users: [`${user}-${i}`], verbs: ['get'] }));
}

test('a write of a large manifest is edited in the thread, and one of a small manifest is not', async () => {
  await at.create(root, 'teams', object('Team', 'large', { spec: { access: rules('a') } }));
  await at.give(object('Team', 'small', { spec: {} }));
  steps = [];

  const small = await at.patch(root, 'teams', 'small', (it) => {
    it.spec.displayName = 'x';
  });
  expect([small.code, steps]).toEqual([200, []]);
  const large = await at.patch(root, 'teams', 'large', (it) => {
    it.spec.access = rules('b');
  });
  expect([large.code, steps]).toEqual([200, ['edit']]);
  expect(large.result?.object.spec).toEqual({ access: rules('b') });
});

/** A manifest that the fast reader leaves out. */
function taggedRules(): string {
  const list = rules('a').map(
    (rule) => `  - !!map {users: [${rule.users}], verbs: [get]} # of ours\n`,
  );
  return `apiVersion: ${API_GROUP}/v1\nkind: Team\nmetadata:\n  name: large\nspec:\n  access:\n${list.join('')}`;
}

test('a large manifest that the fast reader leaves out is read in the thread too', async () => {
  const large = object('Team', 'large', { spec: {} });
  const yaml = taggedRules();
  await at.platform.commit({ [fileOf(large)]: yaml });

  const changed = await at.patch(root, 'teams', 'large', (it) => {
    it.spec.displayName = 'x';
  });
  expect([changed.code, steps]).toEqual([200, ['value', 'edit', 'read']]);
  const after = git(at.platform.repository.gitDir, ['show', `HEAD:${fileOf(large)}`]);
  expect(after.trimEnd()).toBe(`${yaml}  displayName: x`);
});

test('a write is refused with 422 when the thread meets a limit, and another write is made', async () => {
  const large = object('Team', 'large', { spec: {} });
  await at.platform.commit({ [fileOf(large)]: taggedRules() });
  const setup = { apiGroup: API_GROUP, under: '', gitMemoryMib: 512 };
  const edits = new LargeFiles(() => setup, { memoryMib: 512, deadlineMs: 1 });
  onTestFinished(() => edits.close());
  const { pool } = at.platform.branch.reader;
  Object.assign(at.platform.branch.reader, { pool: { ...pool, edits } });

  const changed = await at.patch(root, 'teams', 'large', (it) => {
    it.spec.displayName = 'x';
  });
  const refusal = 'its document takes too much memory or time to be edited; split it';
  expect([changed.code, changed.text]).toEqual([422, expect.stringContaining(refusal)]);
  const made = await at.create(root, 'teams', object('Team', 'other', { spec: {} }));
  expect(made.code).toBe(200);
});
