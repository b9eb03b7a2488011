/** A stream of JSON values, one per line, as in a watch. */
import type { Readable } from 'node:stream';
import { ApiFailure, unreachable } from './api-failure.ts';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Ends with the stream; throws ApiFailure for an interrupted or invalid one. */
export async function* linesOf(stream: Readable): AsyncIterable<unknown> {
  let rest: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        const line = Buffer.concat([...rest, chunk.subarray(start, end)]);
        rest = [];
        size = 0;
        start = end + 1;
        if (line.length > 0) yield JSON.parse(line.toString('utf8'));
      }
      if (start < chunk.length) rest.push(chunk.subarray(start));
      size += chunk.length - start;
      if (size > MAX_LINE_BYTES) throw new Error('a line of the watch is too long');
    }
  } catch (error) {
    throw error instanceof ApiFailure ? error : unreachable(error);
  }
}
