/** Table of the folders of `src/`: what each owns, and which others it may import. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './markdown-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** The rows come from test/architecture.test.ts, what a folder owns from the start of its README.md. */
export function layerTable(): string {
  const source = readFileSync(join(ROOT, 'test/architecture.test.ts'), 'utf8');
  const body = /const MAY_IMPORT[^{]*\{([\s\S]*?)\n\};/.exec(source)?.[1] ?? '';
  const rows = [...body.matchAll(/^ {2}'?([\w-]+)'?: \[([\s\S]*?)\]/gm)].map(
    ([, folder = '', list = '']) => {
      const imports = [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
      const may = imports.includes('*') ? 'everything' : imports.join(', ');
      const link = `[\`${folder}/\`](../src/${folder})`;
      return [link, firstSentence(folder), may === '' ? 'nothing of ours' : may];
    },
  );
  return table(['Folder', 'What it owns', 'May import'], rows);
}

function firstSentence(folder: string): string {
  const readme = join(ROOT, 'src', folder, 'README.md');
  if (!existsSync(readme)) return '';
  const text = readFileSync(readme, 'utf8').replace(/^#.*\n+/, '');
  const [paragraph = ''] = text.split(/\n\s*\n/);
  return paragraph
    .replaceAll('\n', ' ')
    .replace(/(?<=[^.])[.:](?=\s[A-Z].*|\s*$).*/, '')
    .trim();
}
