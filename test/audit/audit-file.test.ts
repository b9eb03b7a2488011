import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { AuditFile, type AuditFileOptions } from '../../src/audit/audit-file.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gitplane-audit-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const DAY = 86_400_000;
let now = Date.parse('2026-01-01T00:00:00Z');
const clock = { now: () => now };

async function opened(options: Partial<AuditFileOptions> & { path: string }): Promise<AuditFile> {
  const all = { maxBytes: 100, maxBackups: 0, maxAgeMs: 0, compress: false, ...options };
  const file = new AuditFile(all, clock, (error) => {
    throw error;
  });
  await file.open();
  onTestFinished(() => file.close());
  return file;
}

const line = (n: number): Buffer => Buffer.from(`{"n":${String(n).padStart(30, '0')}}\n`);

function everyLine(path: string): string[] {
  return readdirSync(path)
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(path, name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    })
    .join('')
    .split('\n')
    .filter((text) => text !== '');
}

// covers: audit.path audit.maxSize
test('turns over before a file would be too large, and loses no line', async () => {
  const path = folder();
  const file = await opened({ path, isFolder: true });
  for (let n = 0; n < 10; n++) {
    now += 1;
    await file.append([line(n)]);
  }
  const sizes = readdirSync(path).map((name) => statSync(join(path, name)).size);
  expect(sizes.every((size) => size <= 100)).toBe(true);
  expect(sizes).toHaveLength(5);
  expect(everyLine(path)).toHaveLength(10);
  expect(statSync(join(path, 'audit.log')).mode & 0o777).toBe(0o600);
});

test('two files of one millisecond stay two', async () => {
  const path = folder();
  const file = await opened({ path: join(path, 'a.log'), maxBytes: 1 });
  for (let n = 0; n < 4; n++) await file.append([line(n)]);
  expect(readdirSync(path)).toHaveLength(4);
});

// covers: audit.maxBackups audit.maxAge audit.compress
test.each([
  ['all without limits', {}, 5],
  ['only so many', { maxBackups: 2 }, 3],
  ['only the young', { maxAgeMs: 2.5 * DAY }, 4],
  ['packed', { compress: true }, 5],
])('keeps old files: %s', async (_, limits, count) => {
  const path = folder();
  writeFileSync(join(path, 'other-2020-01-01T00-00-00.000.log'), 'not ours');
  const file = await opened({ path: join(path, 'audit.log'), maxBytes: 1, ...limits });
  for (let n = 0; n < 5; n++) {
    now += DAY;
    await file.append([line(n)]);
  }
  await file.close();
  const names = readdirSync(path).filter((name) => name.startsWith('audit'));
  expect(names).toHaveLength(count);
  const packed = names.filter((name) => name.endsWith('.gz'));
  expect(packed).toHaveLength('compress' in limits ? 4 : 0);
  rmSync(join(path, 'other-2020-01-01T00-00-00.000.log'));
  expect(everyLine(path)).toHaveLength(count);
});

test('goes on in a new file after another program rotated the log', async () => {
  const path = folder();
  const file = await opened({ path: join(path, 'a.log') });
  await file.append([line(1)]);
  renameSync(join(path, 'a.log'), join(path, 'a.log.1'));
  await file.append([line(2)]);
  expect(readFileSync(join(path, 'a.log'), 'utf8')).toBe(line(2).toString());
});

test('is written to no file of another program, and through no link', async () => {
  const path = folder();
  writeFileSync(join(path, 'crontab'), '# not yours\n');
  symlinkSync(join(path, 'new'), join(path, 'link'));
  await expect(opened({ path: join(path, 'crontab') })).rejects.toThrow('holds no audit log');
  await expect(opened({ path: join(path, 'link') })).rejects.toThrow('ELOOP');
  expect(readFileSync(join(path, 'crontab'), 'utf8')).toBe('# not yours\n');
});
