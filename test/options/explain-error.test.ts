/** Raw errors of Node and OpenSSL, made by Node and OpenSSL, as sentences for people. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { createSecureContext } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { getJson } from '../../src/cli/https-client.ts';
import { explainError } from '../../src/options/explain-error.ts';

async function errorOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown');
}

/** As commands wrap it. */
async function wrapped(act: () => unknown): Promise<Error> {
  const cause = await errorOf(act);
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot read x: ${why}`, { cause });
}

const RAW = /\bE[A-Z]{3,}\b|error:[0-9A-F]{8}|ERR_|routines|PEM_read|undefined/;

describe('a sentence with a remedy', () => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'no file',
      () => readFile('/nowhere/x'),
      /^Cannot open \/nowhere\/x: it does not exist; check/,
    ],
    ['a folder', () => readFile('/'), /It is a directory; name a file$/],
    ['below a file', () => readFile('/etc/passwd/x'), /a part of the path is not a directory/],
    ['there already', () => mkdir(tmpdir()), /^Cannot create .*: it exists already/],
    ['a full disk', () => writeFile('/dev/full', 'x'), /disk is full; free some space/],
    [
      'no listener',
      () => getJson('http://127.0.0.1:1/x'),
      /^Cannot reach http.*: nothing listens there/,
    ],
    [
      'no host',
      () => getJson('https://nowhere.invalid/'),
      /the (host name is unknown|DNS does not answer)/,
    ],
    ['no URL', () => new URL('nonsense'), /^Cannot use nonsense: it is not a URL; write https/],
    [
      'no PEM key',
      () => createPrivateKey('nonsense'),
      /format of the key is not supported|not PEM/,
    ],
    [
      'no PEM certificate',
      () => new X509Certificate('nonsense'),
      /is not PEM|OpenSSL cannot use it/,
    ],
    ['no PEM chain', () => createSecureContext({ cert: 'nonsense' }), /is not PEM; name a file/],
  ])('names the remedy for %s, also inside an error of gitplane', async (_name, act, message) => {
    const error = await errorOf(act);

    expect(explainError(error)).toMatch(message);
    expect(explainError(error)).not.toMatch(RAW);
    expect(explainError(await wrapped(act))).not.toMatch(RAW);
  });

  test('names the remedy for a port that does not speak TLS', async () => {
    const server = createServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const error = await errorOf(() => getJson(`https://127.0.0.1:${port}/`));
    server.close();

    expect(explainError(error)).toMatch(/^Cannot reach https.*: .*the port does not speak TLS/);
  });
});

test.each([
  ['Cannot seed from /x: ENOENT', 'Cannot seed from /x: it does not exist; check the path'],
  [
    "Cannot make /x: EEXIST: file already exists, open '/x'",
    'Cannot make /x: it exists already; choose another name, or remove it',
  ],
  ['a message of ours stays', 'a message of ours stays'],
  ['Team: EU: west', 'Team: EU: west'],
])('%s', (message, expected) => {
  expect(explainError(new Error(message))).toBe(expected);
  expect(explainError(message)).toBe(expected);
});
