/** Every command in docs/ works as it is written; the stage is set by docs/README.md. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, stepsOf } from './markdown.ts';
import { describePages } from './page.ts';

/** Its commands need the daemon stopped in between; it has a test of its own. */
const ELSEWHERE = ['docs/operations.md'];

const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .filter((page) => !ELSEWHERE.includes(page) && stepsOf(page).length > 0)
  .sort();

describePages('commands in docs', pages, 'docs/README.md');
