/** The newest move that etcd had, as a disk remembers it. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  type AcknowledgedCommit,
  LastAcknowledgedCommit,
} from '../../src/replication/last-acknowledged-commit.ts';
import { temporaryFolder } from '../support/git.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder, 'gitplane'));
  file = join(folder, 'gitplane/agreed.json');
});

function open(gitDir = folder): LastAcknowledgedCommit {
  const mark = new LastAcknowledgedCommit(gitDir);
  onTestFinished(() => mark.close());
  return mark;
}

const FIRST = { commit: 'a'.repeat(40), sequence: 1 };

test.each<[string, AcknowledgedCommit]>([
  ['another commit', { commit: 'b'.repeat(40), sequence: 1 }],
  ['another sequence of the same commit', { ...FIRST, sequence: 2 }],
  ['a shorter text', { commit: 'c', sequence: 2 }],
  ['the same', FIRST],
])('the last of two notes is read after a kill: %s', async (_what, last) => {
  const mark = open();
  mark.save({ ...FIRST, sequence: FIRST.sequence });
  mark.save(last);
  expect(await mark.read()).toEqual(last);
  expect(await open().read()).toEqual(last);
});

test('a note of what is noted writes nothing', async () => {
  const mark = open();
  mark.save(FIRST);
  writeFileSync(file, '{}');
  mark.save({ ...FIRST });
  expect(readFileSync(file, 'utf8')).toBe('{}');
});

test.each([
  ['no file', undefined],
  ['half a file', '{"commit":'],
  ['another boot', JSON.stringify({ ...FIRST, boot: 'another' })],
  ['no boot', JSON.stringify(FIRST)],
  ['an unknown boot', JSON.stringify({ ...FIRST, boot: '' })],
])('a disk with %s remembers nothing', async (_what, text) => {
  if (text !== undefined) writeFileSync(file, text);
  expect(await open().read()).toBeUndefined();
});

test('a mark that cannot be written leaves no old one, and fails no commit', async () => {
  symlinkSync('/dev/full', file);
  open().save(FIRST);
  expect(existsSync(file)).toBe(false);
  open(join(folder, 'nowhere')).save(FIRST);
  expect(await open(join(folder, 'nowhere')).read()).toBeUndefined();
});
