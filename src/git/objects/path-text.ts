/**
 * Paths are bytes in git and text in gitplane. Valid UTF-8 is decoded as such. A byte that is not part
 * of valid UTF-8 becomes the lone surrogate U+DC00 + byte, so that every path is distinct and can be
 * encoded again.
 */
import { isUtf8 } from 'node:buffer';

const escapedByte = /[\udc80-\udcff]/u;
const escapedBytes = /([\udc80-\udcff]+)/u;

export function decodePath(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at);
    text +=
      length === 0
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString('utf8', at, at + length);
    at += Math.max(length, 1);
  }
  return text;
}

/** Length of the valid UTF-8 character at `at`; 0 if there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

export function encodePath(path: string): Buffer {
  if (!escapedByte.test(path)) return Buffer.from(path, 'utf8');
  return Buffer.concat(
    path
      .split(escapedBytes)
      .map((part) =>
        escapedByte.test(part)
          ? Buffer.from(Array.from(part, (c) => c.charCodeAt(0) - 0xdc00))
          : Buffer.from(part, 'utf8'),
      ),
  );
}
