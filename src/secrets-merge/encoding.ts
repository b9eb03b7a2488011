/**
 * Bytes of a secret as text of the store and back. The mark of an encoding stands in the value
 * itself, so that it changes in the same instant as the value does.
 */

const MARK = 'base64:';

/** Text where the bytes are text, else `base64:…`. Text that begins like the mark is marked too. */
export function encodeForStore(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  const isText = !text.startsWith(MARK) && Buffer.from(text, 'utf8').equals(buffer);
  return isText ? text : `${MARK}${buffer.toString('base64')}`;
}

/** Only what an encoder would have written counts as encoded; anything else is the text itself. */
export function decodeFromStore(text: string): Uint8Array {
  if (text.startsWith(MARK)) {
    const encoded = text.slice(MARK.length);
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.toString('base64') === encoded) return bytes;
  }
  return Buffer.from(text, 'utf8');
}
