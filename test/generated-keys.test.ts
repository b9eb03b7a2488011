/**
 * No generated key pair is exported as JWK. Node 20 holds the lock of the key for the export; a collection
 * of garbage meanwhile ends the job that generated the pair, which waits for the same lock on the same
 * thread, for ever. One of some 15,000 exports in a loop does.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('files that generate key pairs export none as JWK', () => {
  const src = join(import.meta.dirname, '../src');
  const texts = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file, text: readFileSync(join(src, file), 'utf8') }));

  const generating = texts.filter(
    ({ text }) =>
      /\bgenerateKeyPair(?:Sync)?\(/.test(text) || /promisify\(generateKeyPair\)/.test(text),
  );
  const exporting = generating.filter(({ text }) => /export\(\{ format: 'jwk'/.test(text));

  expect(generating.length).toBeGreaterThan(0);
  expect(exporting.map(({ file }) => file)).toEqual([]);
});
