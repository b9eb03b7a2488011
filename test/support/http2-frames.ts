/** Frames of HTTP/2 for clients that do what no library does. */

/** RFC 9113, section 3.4. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  goaway: 7,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** One frame: its type, flags, stream and payload (RFC 9113, section 4.1). */
export function frame(
  type: number,
  flags = 0,
  stream = 0,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header block of a request. */
export function requestBlock(method: 'GET' | 'POST', path: string): Buffer {
  const https = Buffer.from([method === 'GET' ? 0x82 : 0x83, 0x87]);
  const [pathName, authorityName] = [Buffer.from([4]), Buffer.from([1])];
  return Buffer.concat([https, pathName, text(path), authorityName, text('h')]);
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)]);
}
