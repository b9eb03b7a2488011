/** Texts of others in the Markdown of a forge. */

const CONTROL = /[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu;
const SHORTEST_FENCE = 3;

/** Lines in a code block, in which nothing is a link, a picture, a mention or HTML. */
export function codeBlock(lines: readonly string[], language = ''): string {
  const text = lines.map((line) => line.replace(CONTROL, ' ')).join('\n');
  const runs = [...text.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(SHORTEST_FENCE - 1, ...runs) + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
