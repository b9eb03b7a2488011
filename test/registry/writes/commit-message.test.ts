/** Authors of commits. */
import { expect, test } from 'vitest';
import { authorOf } from '../../../src/registry/writes/commit-message.ts';

const email = (length: number): string => 'a@b.example'.padStart(length, 'a');

test.each([
  ['an address', { email: email(254) }, email(254)],
  ['an address that no mail server takes', { email: email(255) }, 'ann@users.noreply.gitplane.dev'],
  ['no address', {}, 'ann@users.noreply.gitplane.dev'],
])('a user with %s', (_what, given, expected) => {
  const user = { name: 'ann', groups: [], ...given };
  expect(authorOf(user)).toEqual({ name: 'ann', email: expected });
});
