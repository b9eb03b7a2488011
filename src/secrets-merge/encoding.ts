/**
 * Encodes the bytes of a secret as text for the store. The encoding prefix is part of the value, so
 * that both change atomically.
 */

const MARK = 'base64:';

/**
 * Plain text if the bytes are valid text, otherwise `base64:…`. Text that begins with the prefix is
 * encoded too.
 */
export function encodeForStore(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  const isText = !text.startsWith(MARK) && Buffer.from(text, 'utf8').equals(buffer);
  return isText ? text : `${MARK}${buffer.toString('base64')}`;
}

/** Only canonical base64 after the prefix is decoded; any other text is the value itself. */
export function decodeFromStore(text: string): Uint8Array {
  if (text.startsWith(MARK)) {
    const encoded = text.slice(MARK.length);
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.toString('base64') === encoded) return bytes;
  }
  return Buffer.from(text, 'utf8');
}
