/**
 * Holds the words of docs/glossary.md: source, help texts, docs and test titles use one standard noun
 * per idea. Each row names a retired word, the words to use, and where the word has another meaning.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

interface Retired {
  readonly word: RegExp;
  readonly use: string;
  /** Files in which the word is a standard term. */
  readonly except?: RegExp;
}

const RETIRED: readonly Retired[] = [
  { word: /\b(?:whoever|whomever)\b/i, use: 'the caller, the client, the user, another process' },
  { word: /\bsomebody(?: else)?\b/i, use: 'another process, a user, a client' },
  { word: /\bcrew\b/i, use: 'reader pool' },
  { word: /\bworkshop\b/i, use: 'pack worker' },
  { word: /\bfores(?:ee|een|ees|aw|ight)\b|\bforet(?:ell|old|ells)\b/i, use: 'dry run, plan' },
  { word: /\bpatience\b/i, use: 'backoff, timeout' },
  { word: /\bsurroundings\b/i, use: 'context' },
  { word: /\bremarks?\b/i, use: 'provenance, metadata' },
  { word: /\bunmade\b/i, use: 'lazy object' },
  {
    word: /\bwrite logs?\b|\bsave logs?\b|\blog keeper\b/i,
    use: 'write-ahead log, WAL, checkpoint',
  },
  { word: /\bspare files?\b/i, use: 'preallocated files' },
  { word: /\bin slices\b/i, use: 'yielding to the event loop' },
  { word: /\bletting go\b|\blets? go of\b/i, use: 'release, yield' },
  { word: /\bagreed mark\b/i, use: 'last acknowledged commit' },
  { word: /\bnewest line\b/i, use: 'read index' },
  { word: /\bon (?:its|their) way to the disk\b/i, use: 'in flight' },
  {
    word: /\bconsents?\b/i,
    use: 'approval',
    except: /prune-approvals|sign-in|signin|oidc|login|device|cli-routes|programs|threat-model/,
  },
  { word: /\b(?:in|takes?) (?:its|their|a) turns?\b/i, use: 'mutex, in order' },
  { word: /\bstops? to [a-z]+\b/i, use: 'stops doing' },
];

const QUESTION = /^(?:What|Who|Whom|Whose|Whoever|Where|Whether|How|Why|When)\b/;

/** First words that leave the actor out: a title opens with a noun or a verb. */
const OPENING =
  /^(?:about|after|against|although|among|and|as|at|because|before|behind|beside|besides|between|but|by|during|except|for|from|however|if|in|instead|it|its|nor|of|on|once|one (?:alone|at|by|in|is|of|on|that|which|who|whose|with)|only|or|outside|over|per|since|so|somebody|than|that|them|then|there|they|this|those|though|through|to|towards?|under|unless|until|upon|what|whatever|when|whenever|where|wherever|whether|which|while|who|whoever|whom|whose|why|with|within|without)\b(?!-)/i;
const TITLE =
  /(?:\b(?:describe|test|it)(?:\.\w+)*(?:\([^()'"`]*\))?|^ *[\])}]*\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])+)\1,/gm;

const listed = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => `${folder}/${name}`);

const sources = listed('src', /\.(?:ts|md)$/);
const texts = [
  ...sources,
  ...listed('docs', /^(?!adr\/|benchmarks).*\.md$/),
  ...listed('scripts', /\.(?:ts|mjs)$/),
  ...listed('schemas', /\.json$/),
  'README.md',
  'CONTRIBUTING.md',
];

/** Generated: its comments are the descriptions of the schemas. */
const API_TYPES = 'src/client/api.ts';

describe('words', () => {
  test.each(RETIRED)('$word is retired: use $use', ({ word, except }) => {
    const found = texts
      .filter((file) => except?.test(file) !== true)
      .flatMap((file) =>
        readFileSync(join(ROOT, file), 'utf8')
          .split('\n')
          .flatMap((line, at) => (word.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
      );

    expect(found).toEqual([]);
  });

  test('no comment of the source opens with a question word', () => {
    const found = sources
      .filter((file) => file.endsWith('.ts') && file !== API_TYPES)
      .flatMap((file) =>
        [
          ...readFileSync(join(ROOT, file), 'utf8').matchAll(
            /\/\*\*[\s*]*([^\n*]+)|^\s*\/\/ (.+)/gm,
          ),
        ]
          .map(([, doc, line]) => doc ?? line ?? '')
          .filter((text) => QUESTION.test(text))
          .map((text) => `${file}: ${text}`),
      );

    expect(found).toEqual([]);
  });

  describe('test titles', () => {
    const titles = listed('test', /\.ts$/).flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(TITLE)].map(([, , title = '']) => ({
        file,
        title,
      })),
    );

    test('open with a noun or a verb', () => {
      expect(titles.length).toBeGreaterThan(4000);
      expect(titles.filter(({ title }) => OPENING.test(title))).toEqual([]);
    });

    test('have no retired word', () => {
      const found = titles.filter(({ file, title }) =>
        RETIRED.some(({ word, except }) => word.test(title) && except?.test(file) !== true),
      );

      expect(found).toEqual([]);
    });
  });

  test('the glossary links to folders that exist', () => {
    const glossary = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8');
    const folders = [...glossary.matchAll(/\]\(\.\.\/(src[^)]*)\)/g)].map(([, path = '']) => path);

    expect(folders.length).toBeGreaterThan(50);
    for (const folder of folders) {
      expect(() => readdirSync(join(ROOT, folder)), folder).not.toThrow();
    }
  });
});
