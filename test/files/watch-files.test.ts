import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchFiles } from '../../src/files/watch-files.ts';
import { scratchDir } from '../support/daemon.ts';

/** No look in between: an event has to tell. */
const TIMES = { stableMs: 20, lookMs: 3_600_000 };

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** As the kubelet writes a volume: the files are links through `..data`, which is replaced at once. */
function volume(folder: string, version: string): void {
  write(join(folder, `..${version}`, 'tls.crt'), version);
  symlinkSync(`..${version}`, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
}

interface Case {
  readonly before: (folder: string) => string;
  readonly change: (file: string, folder: string) => void;
}

const CASES: Readonly<Record<string, Case>> = {
  'a file is written in place': {
    before: (folder) => write(join(folder, 'f'), 'old'),
    change: (file) => writeFileSync(file, 'new'),
  },
  'an editor renames a new file over it': {
    before: (folder) => write(join(folder, 'f'), 'old'),
    change: (file) => renameSync(write(`${file}.swp`, 'new'), file),
  },
  'a file is deleted and made again': {
    before: (folder) => write(join(folder, 'f'), 'old'),
    change: (file) => {
      unlinkSync(file);
      writeFileSync(file, 'new');
    },
  },
  'a file comes that was not there, nor its folder': {
    before: (folder) => join(folder, 'later', 'on', 'f'),
    change: (file) => void write(file, 'new'),
  },
  'a mounted volume is replaced behind its link': {
    before: (folder) => {
      volume(folder, 'old');
      symlinkSync('..data/tls.crt', join(folder, 'tls.crt'));
      return join(folder, 'tls.crt');
    },
    change: (_, folder) => {
      volume(folder, 'new');
      rmSync(join(folder, '..old'), { recursive: true });
    },
  },
  'a link in another folder is replaced': {
    before: (folder) => {
      write(join(folder, 'archive/1.pem'), 'old');
      write(join(folder, 'archive/2.pem'), 'new');
      symlinkSync('../archive/1.pem', join(write(join(folder, 'live/x'), ''), '../f'));
      mkdirSync(join(folder, 'etc'));
      symlinkSync(join(folder, 'live/f'), join(folder, 'etc/f'));
      return join(folder, 'etc/f');
    },
    change: (_, folder) => {
      symlinkSync('../archive/2.pem', join(folder, 'live/f.new'));
      renameSync(join(folder, 'live/f.new'), join(folder, 'live/f'));
    },
  },
};

test.each(Object.entries(CASES))('%s: it is read again', async (_title, { before, change }) => {
  const folder = scratchDir();
  const file = before(folder);
  const read: string[] = [];
  const look = (): void => {
    try {
      read.push(readFileSync(file, 'utf8'));
    } catch {
      read.push('none');
    }
  };
  onTestFinished(watchFiles([file], look, TIMES));
  await expect.poll(() => read.length).toBe(1);
  change(file, folder);
  await expect.poll(() => read.at(-1)).toBe('new');
});

test('the second change is seen as the first was', async () => {
  const folder = scratchDir();
  volume(folder, 'a');
  symlinkSync('..data/tls.crt', join(folder, 'tls.crt'));
  const read: string[] = [];
  const file = join(folder, 'tls.crt');
  onTestFinished(watchFiles([file], () => read.push(readFileSync(file, 'utf8')), TIMES));
  for (const version of ['b', 'c', 'd']) {
    await expect.poll(() => read.length).toBeGreaterThan(0);
    volume(folder, version);
    await expect.poll(() => read.at(-1)).toBe(version);
  }
});

test('files that change together are one change, and other files none', async () => {
  const folder = scratchDir();
  const [cert, key] = [write(join(folder, 'c'), '1'), write(join(folder, 'k'), '1')];
  let changes = 0;
  onTestFinished(watchFiles([cert, key], () => changes++, { ...TIMES, stableMs: 200 }));
  await expect.poll(() => changes).toBe(1);
  write(join(folder, 'other'), 'x');
  writeFileSync(cert, '2');
  writeFileSync(key, '2');
  await expect.poll(() => changes).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(changes).toBe(2);
});

test('a file system without events is looked at', async () => {
  const file = write(join(scratchDir(), 'f'), '1');
  let changes = 0;
  const stop = watchFiles([file], () => changes++, { stableMs: 10, lookMs: 10 });
  onTestFinished(stop);
  await expect.poll(() => changes).toBe(1);
  writeFileSync(file, '22');
  await expect.poll(() => changes).toBe(2);
  stop();
  writeFileSync(file, '333');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(changes).toBe(2);
});
