/** Which signing key is used, which are published and which are forgotten, as time goes by. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  KeyRing,
  PUBLISHED_AHEAD_MS,
  readSigningKeys,
} from '../../src/auth/signing-keys/key-ring.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let directory: string;
let now: number;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gitplane-ring-'));
  now = Date.now();
});
afterEach(() => rm(directory, { recursive: true }));

function open(): Promise<KeyRing> {
  return KeyRing.open({
    file: join(directory, 'token-signing.key'),
    clock: { now: () => now },
    rotateAfterMs: 90 * DAY,
    longestTokenMs: DAY,
  });
}

const ids = (ring: KeyRing): string[] => ring.published().map(({ kid }) => kid);

test('a first key signs at once, and is the same after a restart', async () => {
  const ring = await open();
  expect(ids(ring)).toEqual([ring.current().kid]);
  expect(ids(await open())).toEqual(ids(ring));
});

test('a successor is published before it signs, and the old key until its last token ended', async () => {
  const ring = await open();
  const first = ring.current().kid;
  now += 91 * DAY;
  await ring.tend();
  expect(ring.current().kid).toBe(first);
  expect(ids(ring)).toHaveLength(2);

  now += PUBLISHED_AHEAD_MS;
  const second = ring.current().kid;
  expect(second).not.toBe(first);
  expect(ids(ring)).toEqual([first, second]);

  now += DAY;
  await ring.tend();
  expect(ids(ring)).toEqual([first, second]);

  now += 2 * 60_000;
  await ring.tend();
  expect(ids(ring)).toEqual([second]);
  expect(await readdir(directory)).toHaveLength(1);
  expect(ids(await open())).toEqual([second]);
});

test('a daemon that was down for a year signs with a key that verifiers can know', async () => {
  const before = (await open()).current().kid;
  now += 365 * DAY;
  const ring = await open();
  expect(ring.current().kid).toBe(before);
  expect(ids(ring)).toHaveLength(2);
});

test('a file that holds no key is named', async () => {
  await open();
  await writeFile(join(directory, 'token-signing.1.key'), 'nothing');
  await expect(open()).rejects.toThrow('token-signing.1.key is not a private key');
});

test('files of others are left alone', async () => {
  await writeFile(join(directory, 'token-signing.key.tmp'), 'x');
  await writeFile(join(directory, 'token-signing.old.key'), 'x');
  expect(ids(await open())).toHaveLength(1);
});

test('no token outlives its key, and no unpublished key signs, for any pauses between rotations', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 40 * DAY }), { minLength: 1, maxLength: 12 }),
      async (pauses) => {
        await rm(directory, { recursive: true });
        directory = await mkdtemp(join(tmpdir(), 'gitplane-ring-'));
        const ring = await open();
        const firstSeen = new Map<string, number>();
        let living: { kid: string; ends: number }[] = [];
        const start = now;
        for (const pause of pauses) {
          now += pause;
          await ring.tend();
          const published = ids(ring);
          for (const kid of published) if (!firstSeen.has(kid)) firstSeen.set(kid, now);
          living = living.filter(({ ends }) => ends > now);
          for (const { kid } of living) expect(published).toContain(kid);
          const { kid } = ring.current();
          const since = firstSeen.get(kid) ?? Number.POSITIVE_INFINITY;
          expect(since === start + (pauses[0] ?? 0) || now - since >= PUBLISHED_AHEAD_MS).toBe(
            true,
          );
          living.push({ kid, ends: now + DAY });
        }
      },
    ),
    { numRuns: 20 },
  );
});

test('another process reads the keys that there are, and makes none', async () => {
  const file = join(directory, 'token-signing.key');
  expect(await readSigningKeys(file)).toEqual([]);
  expect(await readdir(directory)).toEqual([]);
  const ring = await open();
  now += 91 * DAY;
  await ring.tend();
  const read = await readSigningKeys(file);
  expect(read.map(({ kid }) => kid).sort()).toEqual(ids(ring).sort());
});
