/** The tour of the README works as it is written, against the real daemon. */
import { expect, test } from 'vitest';
import { blocksOf, pageText } from './markdown.ts';
import { describePages } from './page.ts';

describePages('the tour', ['README.md']);

/** `npm start` installs, builds and stays; what it runs is what the tour runs on. */
test('the two commands to start with exist, and serve what the tour expects', () => {
  const { scripts } = JSON.parse(pageText('package.json'));
  const commands = blocksOf(pageText('README.md'))
    .filter(({ words }) => words.includes('no-test'))
    .map(({ text }) => text);

  expect(commands).toEqual(['npm start', 'npm test']);
  expect(scripts).toMatchObject({
    start: 'node scripts/run.mjs start',
    test: 'node scripts/run.mjs test',
  });
  expect(pageText('scripts/run.mjs')).toContain("'serve', '--seed', 'examples/platform'");
});
