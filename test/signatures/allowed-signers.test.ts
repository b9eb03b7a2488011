/** The file of allowed signers means to us what it means to ssh-keygen. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { matchesPatterns, parseAllowedSigners } from '../../src/signatures/allowed-signers.ts';
import { processorMs } from '../support/calls.ts';
import { runs } from '../support/properties.ts';
import { type SshKey, sshKey } from './keys.ts';

let folder: string;
let key: SshKey;
let signature: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-allowed-'));
  key = sshKey(folder, 'key');
  signature = join(folder, 'signature');
  const signed = spawnSync('ssh-keygen', ['-Y', 'sign', '-q', '-n', 'git', '-f', key.file], {
    input: 'x',
  });
  writeFileSync(signature, signed.stdout);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const parse = (line: string) => parseAllowedSigners(line.replaceAll('KEY', key.publicLine), 'f');

/** True if ssh-keygen accepts the key for a principal, by this file. */
function toolAllows(line: string, principal: string): boolean {
  const file = join(folder, 'signers');
  writeFileSync(file, `${line.replaceAll('KEY', key.publicLine)}\n`);
  const args = ['-Y', 'verify', '-n', 'git', '-f', file, '-I', principal, '-s', signature];
  return spawnSync('ssh-keygen', args, { input: 'x' }).status === 0;
}

describe('a line', () => {
  test.each([
    ['a@example.com KEY', 'a@example.com', {}],
    ['a@example.com KEY a comment of words', 'a@example.com', {}],
    ['  a@example.com\tKEY', 'a@example.com', {}],
    ['"a b" KEY', 'a b', {}],
    ['a namespaces="git,file" KEY', 'a', { namespaces: 'git,file' }],
    ['a NameSpaces="git" KEY', 'a', { namespaces: 'git' }],
    ['a valid-after="20200101Z" KEY', 'a', { validAfter: Date.UTC(2020, 0, 1) }],
    ['a valid-before="20300201123405Z" KEY', 'a', { validBefore: Date.UTC(2030, 1, 1, 12, 34, 5) }],
    [
      'a valid-before="203002011234" KEY',
      'a',
      { validBefore: new Date(2030, 1, 1, 12, 34).getTime() },
    ],
    [
      'a valid-after="20200101Z",namespaces="git",valid-before="20300101Z" KEY',
      'a',
      { namespaces: 'git', validAfter: Date.UTC(2020, 0, 1), validBefore: Date.UTC(2030, 0, 1) },
    ],
  ])('%s', (line, principals, options) => {
    expect(parse(line)).toEqual([
      expect.objectContaining({
        principals,
        namespaces: undefined,
        validAfter: undefined,
        validBefore: undefined,
        ...options,
      }),
    ]);
    expect(toolAllows(line, principals)).toBe(true);
  });

  test('a line that is empty or a comment names no signer', () => {
    expect(parse('\n# a comment\n   \na KEY\n')).toHaveLength(1);
  });

  test.each([
    ['a', 'write `principals [options] keytype base64-key` on each line'],
    ['a ssh-ed25519', 'write `principals [options] keytype base64-key` on each line'],
    ['a ssh-ed25519 AAAA', 'it is truncated'],
    ['a ssh-rsa KEY', 'truncated'],
    ['a cert-authority KEY', 'cert-authority is not supported'],
    ['a namespaces KEY', 'the option "namespaces" is unknown or malformed'],
    ['a touch-required KEY', 'the option "touch-required" is unknown or malformed'],
    ['a namespaces="git",namespaces="file" KEY', 'the option namespaces is given twice'],
    ['a valid-before="tomorrow" KEY', '"tomorrow" is not a time'],
    ['a valid-before="20301301" KEY', '"20301301" is not a time'],
    ['"a KEY', 'write `principals'],
  ])('%s is refused with its place', (line, why) => {
    expect(() => parse(`# first\n${line}`)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^f:2: /) }),
    );
    expect(() => parse(line)).toThrow(why);
  });
});

describe('patterns of principals', () => {
  test.each([
    ['a@example.com', 'a@example.com', true],
    ['a@example.com', 'A@example.com', false],
    ['*@example.com', 'a@example.com', true],
    ['*@example.com', 'a@example.com.evil.org', false],
    ['a?', 'ab', true],
    ['a?', 'a', false],
    ['a,b', 'b', true],
    ['*,!b', 'b', false],
    ['*,!b', 'a', true],
    ['!b', 'a', false],
    ['', 'a', false],
    ['**a*', 'bab', true],
  ])('%s for %s: %s, as for ssh-keygen', (patterns, text, expected) => {
    expect(matchesPatterns(text, patterns)).toBe(expected);
    if (patterns !== '') expect(toolAllows(`${patterns} KEY`, text)).toBe(expected);
  });

  test('match as in ssh-keygen', () => {
    const letters = (alphabet: string) =>
      fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(letters('ab*?,!'), letters('ab'), (patterns, text) => {
        expect(matchesPatterns(text, patterns)).toBe(toolAllows(`${patterns} KEY`, text));
      }),
      { numRuns: runs(40) },
    );
  });

  test('cost no more than the two lengths multiplied', () => {
    const ms = processorMs(() => {
      expect(matchesPatterns('a'.repeat(5_000), `${'*a'.repeat(2_000)}b`)).toBe(false);
    });
    expect(ms).toBeLessThan(2_000);
  });
});
