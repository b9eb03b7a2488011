/** Metadata of commits of any author: limited in size, and read from the header alone. */
import { expect, test } from 'vitest';
import {
  encodeCommit,
  linksOfCommit,
  parseCommitMetadata,
} from '../../../src/git/objects/commit-object.ts';
import { commitOf } from '../../hostile/objects.ts';

const TREE = '1'.repeat(40);
const PARENT = '2'.repeat(40);
const LONG = 'é'.repeat(1_000_000);

test.each<[string, Parameters<typeof commitOf>[2]]>([
  ['message', { message: `A subject\n\n${LONG}` }],
  ['header', { headers: `gpgsig ${LONG}\n`, message: 'A subject\n' }],
  ['name', { author: `author ${LONG} <a@example.com> 1700000000 +0000\n`, message: 'A subject' }],
  ['address', { author: `author A <${LONG}> 1700000000 +0000\n`, message: 'A subject' }],
])('a %s of 2 MB leaves short metadata', (_what, more) => {
  const content = commitOf(TREE, [PARENT], more);
  const { parents, author, committer, committerTime, message } = parseCommitMetadata(content);
  expect(committerTime).toBe(1_700_000_000);
  expect(parents).toEqual([PARENT]);
  expect(committer.name).toBe('Mallory');
  expect(author.name.length).toBeLessThanOrEqual(1024);
  expect(author.email.length).toBeLessThanOrEqual(1024);
  expect(message).toMatch(/^A subject\n/);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(65_536 + 3);
  expect(linksOfCommit(content)).toMatchObject({ tree: TREE, parents: [PARENT] });
});

test('fields behind the committer name nobody', () => {
  const headers = 'mergetag object x\n author Other <o@example.com> 1 +0000\n';
  const { author } = parseCommitMetadata(commitOf(TREE, [], { headers }));
  expect(author.name).toBe('Mallory');
});

test('a message of a commit without a committer names no parents and no committer', () => {
  const message = `Subject\nparent ${PARENT}\ncommitter Other <o@example.com> 1 +0000\n`;
  const { parents, committer } = parseCommitMetadata(Buffer.from(`tree ${TREE}\n\n${message}`));
  expect({ parents, name: committer.name }).toEqual({ parents: [], name: '' });
});

test('a name with a million dots between its letters loses those of its ends alone', () => {
  const dots = '.'.repeat(2 ** 20);
  const person = { name: `${dots}a${dots}b${dots}`, email: 'a@b.example' };
  const commit = { author: person, committer: person, time: 1, message: 'm' };
  expect(encodeCommit(commit, TREE, []).toString()).toContain(
    `\nauthor a${dots}b <a@b.example> 1 +0000\n`,
  );
});

test('an encoded author has no characters that a terminal obeys', () => {
  const person = { name: 'a\u009b31m\u202eb\u2066c\u2028d', email: 'a\u009bb\u202e@c.example' };
  const commit = { author: person, committer: person, time: 1, message: 'm' };
  expect(encodeCommit(commit, TREE, []).toString()).toContain(
    '\nauthor a 31m b c d <ab@c.example> 1 +0000\n',
  );
});
