/** Manifests that are too large to be edited: refused before they are in git, since no write could change them later. */
import { beforeEach, expect, test } from 'vitest';
import {
  fileOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';

let at: GuardedPlatform;
let root: string;

beforeEach(async () => {
  at = await openGuardedPlatform();
  await at.give(object('User', 'root', { spec: {} }), ...grant('root', '* *', 'User:root'));
  root = await at.giveKey('root', { user: 'root' });
});

const users = Array.from({ length: 70_000 }, (_, i) => `user-${i}`);
const WORDS = 'more than 250000 words, marks and comments in one document; split it';

test('the API makes no object whose manifest is too large to be edited', async () => {
  const made = await at.create(root, 'teams', object('Team', 'large', { spec: { users } }));
  expect([made.code, made.text]).toEqual([422, expect.stringContaining(WORDS)]);
});

test('the API makes no manifest too large to be edited', async () => {
  await at.give(object('Team', 'large', { spec: {} }));
  const changed = await at.patch(root, 'teams', 'large', (it) => {
    it.spec.users = users;
  });
  expect([changed.code, changed.text]).toEqual([422, expect.stringContaining(WORDS)]);
});

test('a write of an object whose manifest is too large names the limit', async () => {
  const large = object('Team', 'large', { spec: {} });
  const yaml = `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: large\nspec:\n  users:\n${users.map((user) => `  - ${user}\n`).join('')}`;
  await at.platform.commit({ [fileOf(large)]: yaml });
  const changed = await at.patch(root, 'teams', 'large', (it) => {
    it.spec.displayName = 'x';
  });
  expect([changed.code, changed.text]).toEqual([409, expect.stringContaining(WORDS)]);
});
