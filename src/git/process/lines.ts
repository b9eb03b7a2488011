/** The output of a git process, line by line. */
import type { Readable } from 'node:stream';

export async function* lines(stream: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + (chunk as Buffer).toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}
