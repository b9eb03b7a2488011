/** Every attack of the threat model names the tests that hold its line, and they are there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pageText, ROOT } from './markdown.ts';

function attacks(): string[][] {
  const text = pageText('docs/threat-model.md');
  const [, section = ''] = text.split('\n## Attacks, and what stands against them\n');
  const [table = ''] = section.split('\n## ');
  const rows = table.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) => row.slice(2, -2).split(' | '));
}

test('the page lists attacks', () => {
  expect(attacks().length).toBeGreaterThan(30);
});

test.each(attacks())('%s', (_attack, _answer, held = '', ...more) => {
  expect(more).toEqual([]);
  const files = held.split(', ').map((file) => /^`(test\/[\w/-]+\.test\.ts)`$/.exec(file)?.[1]);
  expect(files.filter((file) => file === undefined || !existsSync(join(ROOT, file)))).toEqual([]);
});
