import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import { run, scratchDir } from '../support/daemon.ts';
import { ChunkedBody } from './chunked-body.ts';
import { Corpus } from './corpus.ts';
import { BENCH_OPTIONS, readBenchOptions } from './options.ts';
import { formatLine, type Line, ratioOf, withGoal } from './report.ts';
import { summarize } from './statistics.ts';

describe('a summary', () => {
  test.each([
    { samples: [5], median: 5, p99: 5, min: 5, max: 5 },
    { samples: [3, 1, 2], median: 2, p99: 3, min: 1, max: 3 },
    { samples: [4, 1, 2, 3], median: 2.5, p99: 4, min: 1, max: 4 },
    {
      samples: Array.from({ length: 200 }, (_, i) => i + 1),
      median: 100.5,
      p99: 198,
      min: 1,
      max: 200,
    },
  ])('a summary of $samples.length samples', ({ samples, ...expected }) => {
    expect(summarize(samples)).toEqual({ ...expected, samples: samples.length });
  });

  test('a summary of nothing is an error', () => {
    expect(() => summarize([])).toThrow(RangeError);
  });
});

describe('a line', () => {
  const measured = summarize([8]);
  const reference = { name: 'git', measured: summarize([4]) };
  const line: Line = { name: 'writes', unit: '/s', measured, reference };

  test('compares what was measured with its reference', () => {
    expect(ratioOf(line)).toBe(2);
    expect(ratioOf({ name: 'writes', unit: '/s', measured })).toBeUndefined();
  });

  test.each([
    { bound: { atMost: 2 }, met: true },
    { bound: { atMost: 1.9 }, met: false },
    { bound: { atLeast: 2 }, met: true },
    { bound: { atLeast: 2.1 }, met: false },
    { bound: { below: 9 }, met: true },
    { bound: { below: 8 }, met: false },
  ])('a line with the goal $bound shows the result', ({ bound, met }) => {
    const judged = withGoal(line, bound);

    expect(judged.goal?.met).toBe(met);
    expect(formatLine(judged).includes('missed')).toBe(!met);
  });
});

describe('the corpus', () => {
  const corpus = new Corpus(2_000);

  test('is as large as asked for, the same in every run, and valid', () => {
    const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
    const files = [...corpus.files()];

    expect(new Set(files.map(({ path }) => path)).size).toBe(2_000);
    expect(files).toEqual([...new Corpus(2_000).files()]);
    const documents = files.flatMap(
      ({ path, content }) => reader.read(path, '', content).documents,
    );
    expect(documents.flatMap(({ problems, warnings }) => [...problems, ...warnings])).toEqual([]);
    expect(corpus.bytes / corpus.size).toBeGreaterThan(500);
    expect(corpus.bytes / corpus.size).toBeLessThan(700);
  });

  test('has at most a hundred files in a directory', () => {
    const counts = new Map<string, number>();
    for (const { path } of corpus.files()) {
      const folder = path.slice(0, path.lastIndexOf('/'));
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }

    expect(Math.max(...counts.values())).toBe(100);
  });

  test('may have all of its shared secrets in one directory, those that are made too', () => {
    const wide = new Corpus(2_000, 1_800);
    const folders = new Set(Array.from({ length: 5 }, (_, i) => wide.newSecret(i).namespace));
    for (let i = 0; i < wide.secrets; i++) folders.add(wide.namespaceOf(i));

    expect(wide.secrets).toBe(1_800);
    expect([...folders]).toEqual(['project-00000']);
  });
});

describe('options', () => {
  test.each([
    [['--rows', 'start,nothing'], 'Unknown row "nothing"'],
    [['nothing'], 'Unknown row "nothing"'],
    [['start', '--rows', 'push'], 'Name the rows once'],
    [['--manifests', '12x'], 'Cannot use --manifests "12x"'],
    [['--repetitions', '0'], 'Cannot use --repetitions "0"'],
    [['--format', 'html'], 'Cannot use --format "html"'],
  ])('%j are refused', (args, message) => {
    expect(() => readBenchOptions(parseOptions(BENCH_OPTIONS, args, {}))).toThrow(message);
  });
});

test('rows are named as operands or with --rows', () => {
  const rows = (...args: string[]): readonly string[] =>
    readBenchOptions(parseOptions(BENCH_OPTIONS, args, {})).rows;

  expect(rows('start', 'kube-apiserver')).toEqual(['start', 'kube-apiserver']);
  expect(rows('--rows', 'push,start')).toEqual(['push', 'start']);
  expect(rows()).toContain('start');
});

describe('a chunked body', () => {
  const wire = Buffer.from('4\r\nabcd\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n');

  test.each([1, 2, 3, 5, 100])('a chunked body is assembled from pieces of %i bytes', (size) => {
    const body = new ChunkedBody();
    const parts: Buffer[] = [];
    for (let at = 0; at < wire.length; at += size) {
      expect(body.ended).toBe(false);
      parts.push(...body.take(wire.subarray(at, at + size)));
    }

    expect(Buffer.concat(parts).toString()).toBe('abcd0123456789');
    expect(body.ended).toBe(true);
  });

  test('a chunked body without a size is an error', () => {
    expect(() => [...new ChunkedBody().take(Buffer.from('xyz\r\n'))]).toThrow('without a size');
  });
});

describe('the program', () => {
  const program = join(import.meta.dirname, '../../build/bench/main.js');
  const quick = ['--manifests', '200', '--repetitions', '1', '--format', 'json'];

  test('measures each row beside its reference and leaves nothing behind', async () => {
    const temporary = join(scratchDir(), 'tmp');
    mkdirSync(temporary);
    expect(existsSync(program)).toBe(true);

    const { code, stdout, stderr } = await run(
      process.execPath,
      [program, ...quick, '--rows', 'start,engine'],
      { env: { ...process.env, TMPDIR: temporary } },
    );

    expect(stderr).toBe('');
    expect(code).toBe(0);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ manifests: 200, repetitions: 1 });
    expect(report.rows.map(({ row }: { row: string }) => row)).toEqual(['start', 'engine']);
    for (const { lines } of report.rows) {
      expect(lines.length).toBeGreaterThan(1);
      expect(lines[0].measured.median).toBeGreaterThan(0);
      expect(lines[0].ratio).toBeCloseTo(
        lines[0].measured.median / lines[0].reference.measured.median,
      );
    }
    expect(readdirSync(temporary)).toEqual([]);
  });
});
