/** What pages say about fields, options, metrics and layers is what the code says. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configTypes, SECTIONS_FOLDER } from '../../scripts/config-types.ts';
import { documentationPages, renderPage } from '../../scripts/docs.ts';
import { DEFAULT_API_GROUP } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { blocksOf, matchesOutput, pageText, ROOT } from './markdown.ts';

const pages = documentationPages();

describe('generated parts', () => {
  test.each(pages)('%s is up to date (npx tsx scripts/docs.ts writes it)', (page) => {
    const text = pageText(page);

    expect(text).toBe(renderPage(text));
  });

  test('the types of the configuration are up to date', () => {
    for (const [file, text] of configTypes()) expect(pageText(file)).toBe(text);
  });

  test('a section of the configuration has no other types', () => {
    const files = readdirSync(join(ROOT, SECTIONS_FOLDER)).map(
      (name) => `${SECTIONS_FOLDER}/${name}`,
    );

    expect([...configTypes().keys()]).toEqual(expect.arrayContaining(files));
  });

  test('every kind has a page with its facts and fields', () => {
    const { kinds } = buildKindTable(DEFAULT_API_GROUP);
    const wrong = kinds.filter(({ singular, schema }) => {
      const page = `docs/kinds/${singular}.md`;
      if (!existsSync(join(ROOT, page))) return true;
      const text = pageText(page);
      return !['facts', 'fields'].every((what) =>
        text.includes(`<!-- generated: ${what} ${what === 'facts' ? singular : schema} -->`),
      );
    });

    expect(wrong.map(({ kind }) => kind)).toEqual([]);
  });

  test('every page of a kind has the parts that all of them have, in one order', () => {
    const common = ['## Example', '## Fields', '## Conditions'];
    const folder = readdirSync(join(ROOT, 'docs/kinds')).filter((name) => name !== 'metadata.md');
    for (const name of folder) {
      const headings = pageText(`docs/kinds/${name}`)
        .split('\n')
        .filter((line) => common.includes(line));

      expect({ name, headings }).toEqual({ name, headings: common });
    }
  });
});

describe('links', () => {
  test.each(pages)('%s links only to what is there', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});

function brokenLinks(page: string): string[] {
  const links = [...withoutCode(pageText(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, to = '']) => to,
  );
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
}

function withoutCode(text: string): string {
  return text.replace(/^ {0,3}```[\s\S]*?^ {0,3}```$/gm, '').replace(/`[^`\n]*`/g, '');
}

/** As forges make them from headings. */
function anchorsOf(page: string): string[] {
  return withoutFences(pageText(page))
    .split('\n')
    .flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? [])
    .map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
}

function withoutFences(text: string): string {
  return text.replace(/^ {0,3}```[\s\S]*?^ {0,3}```$/gm, '');
}

describe('files that pages name', () => {
  test.each(pages)('%s names only files that exist', (page) => {
    const named = [...pageText(page).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|json|mjs))`/g)];
    const missing = named
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)));

    expect(missing).toEqual([]);
  });
});

describe('words', () => {
  test.each(pages)('%s names no workplace and leaves nothing open', (page) => {
    const found = /\b(TODO|FIXME|TBD|lorem ipsum|session \d|issue #?\d)\b|\/work\//i.exec(
      pageText(page),
    );

    expect(found?.[0]).toBeUndefined();
  });

  test('fences are closed and say their language', () => {
    const wrong = pages.flatMap((page) =>
      blocksOf(pageText(page))
        .filter(
          ({ language }) => !['sh', 'text', 'yaml', 'ts', 'json', 'mermaid'].includes(language),
        )
        .map(({ line }) => `${page}:${line}`),
    );

    expect(wrong).toEqual([]);
  });
});

describe('comparing outputs', () => {
  test.each([
    { shown: 'a …', actual: 'a 1 b', same: true },
    { shown: 'a\n…\nd', actual: 'a\nb\nc\nd', same: true },
    { shown: 'a\n…', actual: 'a', same: true },
    { shown: '…\nd', actual: 'b\nc\nd', same: true },
    { shown: 'a.b', actual: 'a.b  ', same: true },
    { shown: 'a.b', actual: 'acb', same: false },
    { shown: 'a', actual: 'a\nb', same: false },
    { shown: 'a\nb', actual: 'a', same: false },
    { shown: 'a …', actual: 'b 1', same: false },
  ])('"$shown" and "$actual": $same', ({ shown, actual, same }) => {
    expect(matchesOutput(shown, actual)).toBe(same);
  });
});

test('no decision has two topics', () => {
  const folder = 'docs/adr';
  const [, topics = ''] =
    /## By topic\n([\s\S]*?)\n## /.exec(pageText(`${folder}/README.md`)) ?? [];
  const named = [...topics.matchAll(/\]\((\d{4}-[^)]+\.md)\)/g)].map(([, file]) => file);
  const there = readdirSync(join(ROOT, folder)).filter((name) => /^\d{4}-/.test(name));
  // A page that lands beside another one may come later to the table.
  expect(named.length).toBe(new Set(named).size);
  expect(there).toEqual(expect.arrayContaining(named));
});
