/** Our reading and writing of SSH signatures, with ssh-keygen as the judge of both. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCommitSigner } from '../../src/signatures/commit-signer.ts';
import { parsePublicKey } from '../../src/signatures/ssh-public-key.ts';
import {
  formatSshSignature,
  parseSshSignature,
  signedBytes,
} from '../../src/signatures/ssh-signature.ts';
import { uint32, WireReader, wireInteger, wireString } from '../../src/signatures/ssh-wire.ts';
import { runs } from '../support/properties.ts';
import { type SshKey, sshKey } from './keys.ts';

const TYPES = [
  ['ed25519', undefined],
  ['ecdsa', '256'],
  ['ecdsa', '384'],
  ['ecdsa', '521'],
  ['rsa', '2048'],
] as const;

let folder: string;
const keys = new Map<string, SshKey>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-sshsig-'));
  for (const [type, bits = ''] of TYPES) {
    keys.set(type + bits, sshKey(folder, type + bits, type, bits === '' ? undefined : bits));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const message = Buffer.from('tree 0\nauthor x\n\nwhat is signed\n');

function keyOf(type: string, bits = ''): SshKey {
  const key = keys.get(type + bits);
  if (key === undefined) throw new Error(`there is no ${type} key`);
  return key;
}

function blobOf(key: SshKey): Buffer {
  return Buffer.from(key.publicLine.split(' ')[1] ?? '', 'base64');
}

function signedByTool(key: SshKey, namespace = 'git', input = message): string {
  return execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-n', namespace, '-f', key.file], {
    input,
    stdio: 'pipe',
  }).toString('latin1');
}

let count = 0;
/** True if ssh-keygen accepts the signature for the message, from any signer. */
function toolAccepts(signature: string, namespace = 'git', input = message): boolean {
  const file = join(folder, `${++count}.sig`);
  writeFileSync(file, signature, 'latin1');
  const args = ['-Y', 'check-novalidate', '-n', namespace, '-s', file];
  return spawnSync('ssh-keygen', args, { input }).status === 0;
}

/** The same question for us. */
function weAccept(signature: string, input = message): boolean {
  try {
    const parsed = parseSshSignature(signature);
    const key = parsePublicKey(parsed.publicKey);
    return parsed.namespace === 'git' && key.verify(signedBytes(input, parsed), parsed.signature);
  } catch {
    return false;
  }
}

describe.each(TYPES)('%s %s', (type, bits) => {
  test('a signature of ssh-keygen is valid, and only for its message', () => {
    const signature = signedByTool(keyOf(type, bits));

    expect(weAccept(signature)).toBe(true);
    expect(weAccept(signature, Buffer.concat([message, Buffer.from('x')]))).toBe(false);
  });

  test('ssh-keygen accepts a signature of gitplane, and only for its message', async () => {
    const signer = await openCommitSigner(keyOf(type, bits).file);
    const signature = signer.sign(message);

    expect(toolAccepts(signature)).toBe(true);
    expect(toolAccepts(signature, 'file')).toBe(false);
    expect(toolAccepts(signature, 'git', Buffer.from('another'))).toBe(false);
    expect(signature).toBe(formatSshSignature(parseSshSignature(signature)));
  });

  test('the fingerprint is that of ssh-keygen', () => {
    const key = keyOf(type, bits);
    const shown = execFileSync('ssh-keygen', ['-l', '-f', `${key.file}.pub`]).toString();

    expect(shown).toContain(` ${parsePublicKey(blobOf(key)).fingerprint} `);
  });
});

/** A hardware token is a key that signs a little more; one in software does the same. */
describe('hardware tokens', () => {
  const application = 'ssh:';
  const flags = Buffer.concat([Buffer.from([1]), uint32(7)]);
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();

  function signed(publicKey: Buffer, type: string, raw: (bytes: Buffer) => Buffer): string {
    const bytes = signedBytes(message, { namespace: 'git', hash: 'sha512' });
    const inner = Buffer.concat([sha256(application), flags, sha256(bytes)]);
    const signature = Buffer.concat([wireString(type), wireString(raw(inner)), flags]);
    return formatSshSignature({ publicKey, namespace: 'git', hash: 'sha512', signature });
  }

  const coordinate = (key: KeyObject, name: 'x' | 'y'): Buffer =>
    Buffer.from(key.export({ format: 'jwk' })[name] ?? '', 'base64url');

  test('signatures of hardware tokens with an Ed25519 key count, as for ssh-keygen', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const type = 'sk-ssh-ed25519@openssh.com';
    const parts = [type, coordinate(publicKey, 'x'), application].map((part) => wireString(part));
    const signature = signed(Buffer.concat(parts), type, (bytes) => sign(null, bytes, privateKey));

    expect([weAccept(signature), toolAccepts(signature)]).toEqual([true, true]);
    const other = Buffer.from('another');
    expect([weAccept(signature, other), toolAccepts(signature, 'git', other)]).toEqual([
      false,
      false,
    ]);
  });

  test('signatures of hardware tokens with an ECDSA key count, as for ssh-keygen', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const type = 'sk-ecdsa-sha2-nistp256@openssh.com';
    const point = Buffer.concat([
      Buffer.from([4]),
      coordinate(publicKey, 'x'),
      coordinate(publicKey, 'y'),
    ]);
    const parts = [type, 'nistp256', point, application].map((part) => wireString(part));
    const signature = signed(Buffer.concat(parts), type, (bytes) => {
      const pair = sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return Buffer.concat([wireInteger(pair.subarray(0, 32)), wireInteger(pair.subarray(32))]);
    });

    expect([weAccept(signature), toolAccepts(signature)]).toEqual([true, true]);
    const other = Buffer.from('another');
    expect(weAccept(signature, other)).toBe(false);
  });
});

describe('a signature that was tampered with', () => {
  const BEGIN = '-----BEGIN SSH SIGNATURE-----\n';
  const END = '\n-----END SSH SIGNATURE-----';

  test.each([
    ['data behind it', (text: string) => `${text}more\n`],
    ['data before it', (text: string) => `more\n${text}`],
    ['a second one behind it', (text: string) => text + text],
    [
      'data behind its fields',
      (text: string) => withBytes(text, (b) => Buffer.concat([b, Buffer.alloc(1)])),
    ],
    ['a part missing', (text: string) => withBytes(text, (b) => b.subarray(0, -1))],
    ['nothing in it', () => BEGIN + END.trim()],
    ['no end', (text: string) => text.replace(END, '')],
    ['blanks in its base64', (text: string) => text.replace(BEGIN, `${BEGIN} `)],
    ['another version', (text: string) => withBytes(text, (b) => changed(b, 9, 2))],
    [
      'a hash that is none',
      (text: string) => withBytes(text, (b) => replaced(b, 'sha512', 'sha1\0\0')),
    ],
    ['another namespace', (text: string) => withBytes(text, (b) => replaced(b, 'git', 'got'))],
    ['something in the reserved field', (text: string) => withBytes(text, reserve)],
  ])('is refused for %s', (_what, tamper) => {
    const good = signedByTool(keyOf('ed25519'));

    expect(weAccept(good)).toBe(true);
    expect(weAccept(tamper(good))).toBe(false);
  });

  test('is never good to us and bad to ssh-keygen, whichever byte changed', () => {
    const good = signedByTool(keyOf('ed25519'));
    const length = Buffer.from(good.slice(BEGIN.length, good.indexOf(END)), 'base64').length;
    let refused = 0;
    fc.assert(
      fc.property(fc.nat(length - 1), fc.integer({ min: 1, max: 255 }), (at, difference) => {
        const bad = withBytes(good, (bytes) => changed(bytes, at, (bytes[at] ?? 0) ^ difference));
        if (!weAccept(bad)) refused++;
        else expect(toolAccepts(bad)).toBe(true);
      }),
      { numRuns: runs(300) },
    );
    // Every byte of it is one that counts.
    expect(refused).toBe(runs(300));
  });

  function withBytes(text: string, change: (bytes: Buffer) => Buffer): string {
    const bytes = Buffer.from(text.slice(BEGIN.length, text.indexOf(END)), 'base64');
    return `${BEGIN}${change(Buffer.from(bytes)).toString('base64')}${END}\n`;
  }

  function changed(bytes: Buffer, at: number, value: number): Buffer {
    const copy = Buffer.from(bytes);
    copy[at] = value;
    return copy;
  }

  function replaced(bytes: Buffer, from: string, to: string): Buffer {
    return Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');
  }

  /** The reserved field is the empty string behind the namespace. */
  function reserve(bytes: Buffer): Buffer {
    const at = bytes.indexOf(wireString('git')) + wireString('git').length;
    return Buffer.concat([bytes.subarray(0, at), wireString('x'), bytes.subarray(at + 4)]);
  }
});

test('an elliptic signature may have short numbers', async () => {
  const signer = await openCommitSigner(keyOf('ecdsa', '256').file);
  const isShort = (signature: string): boolean => {
    const numbers = new WireReader(parseSshSignature(signature).signature);
    numbers.string();
    const pair = new WireReader(numbers.string());
    return Math.min(pair.string().length, pair.string().length) < 32;
  };
  // One signature in 256 is short; that there is none among so many does not happen.
  const short = Array.from({ length: 20_000 }, (_, i) => Buffer.from(`message ${i}`)).find(
    (input) => {
      const signature = signer.sign(input);
      if (!isShort(signature)) return false;
      expect([weAccept(signature, input), toolAccepts(signature, 'git', input)]).toEqual([
        true,
        true,
      ]);
      return true;
    },
  );
  expect(short).toBeDefined();
});

describe('a key that cannot be used', () => {
  test.each([
    ['a short RSA key', () => blobOf(sshKey(folder, 'short', 'rsa', '1024')), /below 2048 bits/],
    ['a DSA key', () => wireString('ssh-dss'), /"ssh-dss" are not supported/],
    ['a certificate', () => wireString('ssh-ed25519-cert-v01@openssh.com'), /certificate/],
    ['a cut key', () => blobOf(keyOf('ed25519')).subarray(0, 20), /truncated/],
    [
      'data behind it',
      () => Buffer.concat([blobOf(keyOf('ed25519')), Buffer.alloc(1)]),
      /trailing/,
    ],
    [
      'another curve than its type says',
      () =>
        Buffer.from(
          blobOf(keyOf('ecdsa', '256'))
            .toString('latin1')
            .replace(/nistp256(?=\0)/g, 'nistp384'),
          'latin1',
        ),
      /curve/,
    ],
    [
      'a point that is not on the curve',
      () => {
        const blob = Buffer.from(blobOf(keyOf('ecdsa', '256')));
        blob[blob.length - 1] = (blob[blob.length - 1] ?? 0) ^ 1;
        return blob;
      },
      /its key is invalid/,
    ],
  ])('is refused: %s', (_what, blob, why) => {
    expect(() => parsePublicKey(blob())).toThrow(why);
  });
});

test('the private key of a file is never quoted', async () => {
  const key = sshKey(folder, 'damaged', 'ecdsa', '256');
  const lines = readFileSync(key.file, 'utf8').split('\n');
  lines[3] = (lines[3] ?? '').split('').reverse().join('');
  writeFileSync(key.file, lines.join('\n'));

  const error = await openCommitSigner(key.file).catch((reason: Error) => reason);

  expect(error).toBeInstanceOf(Error);
  const text = `${(error as Error).message}${(error as Error).stack}${String((error as Error).cause)}`;
  for (const line of lines.slice(1, -2)) expect(text).not.toContain(line.slice(0, 20));
});
