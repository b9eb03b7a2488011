import { expect, test } from 'vitest';
import { FileTexts } from '../../../src/registry/writes/file-texts.ts';

const MEGABYTE = 1024 * 1024;

/** A group of writes of one large file each. */
function write(texts: FileTexts, from: number, count: number): void {
  texts.beginGroup();
  for (let i = from; i < from + count; i += 1) texts.set(`blob ${i}`, `${i} `.padEnd(MEGABYTE));
}

test('the texts of groups in flight stay, whatever they take', () => {
  const texts = new FileTexts(2);
  write(texts, 0, 30);
  texts.keepGroup();
  write(texts, 30, 30);
  texts.keepGroup();
  write(texts, 60, 30);

  for (let i = 0; i < 90; i += 1) expect(texts.get(`blob ${i}`)).toMatch(new RegExp(`^${i} `));
});

test('texts of groups that ended are kept up to a size', () => {
  const texts = new FileTexts(2);
  for (let group = 0; group < 5; group += 1) {
    write(texts, group * 30, 30);
    texts.keepGroup();
  }
  texts.beginGroup();

  const kept = Array.from({ length: 150 }, (_, i) => i).filter((i) => texts.get(`blob ${i}`));

  expect(kept).toHaveLength(60);
  expect(kept[0]).toBe(90);
});

test('a group whose writes are all refused leaves no text of its own, and those in flight stay', () => {
  const texts = new FileTexts(2);
  write(texts, 0, 30);
  texts.keepGroup();
  for (let group = 1; group < 5; group += 1) write(texts, group * 30, 30);
  texts.beginGroup();

  const kept = Array.from({ length: 150 }, (_, i) => i).filter((i) => texts.get(`blob ${i}`));

  expect(kept.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(kept.length).toBeLessThan(30 + 32);
});
