/** Pictures of the pages: small files, each of them shown, and every form of each picture of the console. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HELD, LOOK, PICTURES, SIGN_IN } from '../../scripts/screenshots/pictures.ts';
import { ROOT } from './markdown.ts';

const DOCS = join(ROOT, 'docs');
const MOST_BYTES = 100 * 1024;
const images = readdirSync(join(DOCS, 'images'));

test('each picture is below 100 KB', () => {
  const large = images.filter((name) => statSync(join(DOCS, 'images', name)).size > MOST_BYTES);

  expect(images).not.toEqual([]);
  expect(large).toEqual([]);
});

test('the pictures are those that scripts/screenshots.ts takes', () => {
  const taken = [...SIGN_IN, ...LOOK, ...PICTURES, ...HELD].flatMap(({ name, forms }) =>
    (forms === 'all' ? ['1280-light', '1280-dark', '390-light', '390-dark'] : ['1280-light']).map(
      (form) => `console-${name}-${form}.png`,
    ),
  );

  expect([...images].sort()).toEqual(taken.sort());
});

test('a page shows each picture', () => {
  const pages = readdirSync(DOCS)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(DOCS, name), 'utf8'))
    .join('\n');

  expect(images.filter((name) => !pages.includes(`images/${name}`))).toEqual([]);
});
