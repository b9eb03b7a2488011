/** Every command in docs/ works as it is written; the stage is set by docs/README.md. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, stepsOf } from './markdown.ts';
import { describePages } from './page.ts';

/** A daemon that is stopped in between, or has other options: these have tests of their own. */
const ELSEWHERE = ['docs/operations.md', 'docs/signatures.md'];

const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .filter((page) => !ELSEWHERE.includes(page) && stepsOf(page).length > 0)
  .sort();

describePages('commands in docs', pages, 'docs/README.md');
