import { chmod, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ensureAdminToken, readAdminToken } from '../../src/auth/access-keys/admin-token.ts';
import { createFile, readIfThere, replaceFile } from '../../src/auth/secret-file.ts';
import { hasValidChecksum } from '../../src/kinds/credentials/access-key.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gitplane-files-'));
  path = join(directory, 'admin.token');
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function mode(): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe('createFile', () => {
  test('makes a file for its owner only, and leaves nothing else', async () => {
    expect(await createFile(path, 'one')).toBe(true);
    expect(await readFile(path, 'utf8')).toBe('one');
    expect(await mode()).toBe(0o600);
    expect(await readdir(directory)).toEqual(['admin.token']);
  });

  test('never touches a file that exists', async () => {
    await writeFile(path, 'mine');
    expect(await createFile(path, 'yours')).toBe(false);
    expect(await readFile(path, 'utf8')).toBe('mine');
    expect(await readdir(directory)).toEqual(['admin.token']);
  });

  test('has one winner among many', async () => {
    const texts = ['a', 'b', 'c', 'd'];
    const made = await Promise.all(texts.map((text) => createFile(path, text)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await readFile(path, 'utf8')).toBe(texts[made.indexOf(true)]);
  });
});

describe('replaceFile', () => {
  test('replaces text and mode, for any umask', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o644);
    const before = process.umask(0o077);
    try {
      await replaceFile(path, 'new', 0o644);
      expect(await mode()).toBe(0o644);
    } finally {
      process.umask(before);
    }
    await replaceFile(path, 'newer');
    expect(await mode()).toBe(0o600);
    expect(await readFile(path, 'utf8')).toBe('newer');
    expect(await readdir(directory)).toEqual(['admin.token']);
  });

  test('leaves the old file when it cannot', async () => {
    await writeFile(path, 'old');
    await expect(replaceFile(join(path, 'below'), 'new')).rejects.toThrow(path);
    expect(await readFile(path, 'utf8')).toBe('old');
  });
});

test('an error of the disk names the file, and leaves the old one', async () => {
  await createFile(path, 'old');
  const handle = await open(path, 'r');
  const disk = vi.spyOn(Object.getPrototypeOf(handle), 'sync');
  onTestFinished(() => disk.mockRestore());
  await handle.close();
  const failure = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  disk.mockRejectedValue(failure);
  const words = `cannot write ${path}: EIO: i/o error, fsync; check the disk`;
  const named = { message: expect.stringContaining(words), code: 'EIO' };
  await expect(replaceFile(path, 'new')).rejects.toMatchObject(named);
  await expect(createFile(path, 'new')).rejects.toMatchObject(named);
  expect(await readFile(path, 'utf8')).toBe('old');
  expect(await readdir(directory)).toEqual(['admin.token']);
});

test('a file that is not there is not an error, one that cannot be read is', async () => {
  expect(await readIfThere(path)).toBeUndefined();
  await expect(readIfThere(directory)).rejects.toThrow(`cannot read ${directory}: EISDIR`);
});

describe('the admin token', () => {
  test('is made once, for its owner only, and read again', async () => {
    const first = await ensureAdminToken(path);
    expect(first.created).toBe(true);
    expect(hasValidChecksum(first.token)).toBe(true);
    expect(await mode()).toBe(0o600);
    expect(await ensureAdminToken(path)).toEqual({ token: first.token, created: false });
    expect(await readAdminToken(path)).toBe(first.token);
  });

  test('is the same for two that make it at once', async () => {
    const both = await Promise.all([ensureAdminToken(path), ensureAdminToken(path)]);
    expect(both[0].token).toBe(both[1].token);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
  });

  test.each([[''], ['gpo_tampered-with'], [`${'x'.repeat(48)}\n`]])(
    'the admin token that is damaged (%j) is an error that names the file and not its text',
    async (text) => {
      await writeFile(path, text);
      const error = await ensureAdminToken(path).catch((reason: unknown) => String(reason));
      expect(error).toContain(`${path} holds no access key`);
      expect(error).toContain('remove it');
      if (text !== '') expect(error).not.toContain(text.trim());
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );

  test('reading a missing admin token does not create it', async () => {
    expect(await readAdminToken(path)).toBeUndefined();
    expect(await readdir(directory)).toEqual([]);
  });
});
