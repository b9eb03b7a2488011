/** Random frames of HTTP/2, and a strict reader of those that the server sends (RFC 9113). */
import { API } from '../../support/daemon.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  PREFACE,
  requestBlock,
} from '../../support/http2-frames.ts';
import type { Random } from '../../support/random.ts';

const PATHS = [
  ...['/livez', '/version', '/auth/token', '/nowhere', '/metrics', `${API}/teams`],
  ...[
    `${API}/teams?watch=1`,
    `${API}/teams?watch=1&timeoutSeconds=1`,
    '/git/platform.git/git-upload-pack',
  ],
];
const { headers, data, reset, settings, goaway } = FRAME;
const [PRIORITY, PROMISE, PING, WINDOW, CONTINUATION, UNKNOWN] = [2, 5, 6, 8, 9, 0xbb];
const PADDED = 8;
const HEAD_BYTES = 9;
const MOST_FRAME_BYTES = 16_384;
const MOST_FRAMES = 24;

export function randomFrames(token: string, random: Random): Buffer {
  const parts: Buffer[] = [
    random.chance(0.95) ? PREFACE : PREFACE.subarray(0, random.below(PREFACE.length)),
  ];
  if (random.chance(0.95)) parts.push(frame(settings));
  let stream = 1;
  const count = 1 + random.below(MOST_FRAMES);
  for (let made = 0; made < count; made += 1) {
    if (random.chance(0.5)) parts.push(request(token, stream, random));
    else parts.push(other(stream, random));
    if (random.chance(0.5)) stream += 2;
  }
  return Buffer.concat(parts);
}

function request(token: string, stream: number, random: Random): Buffer {
  const key = random.chance(0.7) ? field('authorization', `Bearer ${token}`) : Buffer.alloc(0);
  const more = random.chance(0.1) ? field('connection', 'upgrade') : Buffer.alloc(0);
  const method = random.chance(0.7) ? 'GET' : 'POST';
  const block = Buffer.concat([requestBlock(method, random.pick(PATHS)), key, more]);
  const end = random.chance(0.6) ? END_STREAM : 0;
  if (random.chance(0.8)) return frame(headers, end | END_HEADERS, stream, block);
  const cut = random.below(block.length);
  const [begin, rest] = [block.subarray(0, cut), block.subarray(cut)];
  return Buffer.concat([
    frame(headers, end, stream, begin),
    frame(CONTINUATION, random.chance(0.9) ? END_HEADERS : 0, stream, rest),
  ]);
}

/** Literal, without indexing (RFC 7541, section 6.2.2). */
function field(name: string, value: string): Buffer {
  const texts = [name, value].map((text) =>
    Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]),
  );
  return Buffer.concat([Buffer.from([0]), ...texts]);
}

function other(stream: number, random: Random): Buffer {
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random.below(256)));
  const on = random.chance(0.2) ? random.below(12) : stream;
  const flags = random.chance(0.2) ? random.below(256) : 0;
  return random.pick<() => Buffer>([
    () => frame(data, flags, on, bytes(random.below(100))),
    () => frame(data, END_STREAM, on),
    () => frame(data, PADDED, on, bytes(random.below(4))),
    () => frame(reset, flags, on, bytes(random.chance(0.9) ? 4 : 3)),
    () => frame(settings, flags, 0, bytes(6 * random.below(4))),
    () => frame(PING, flags, 0, bytes(random.chance(0.9) ? 8 : 7)),
    () => frame(WINDOW, flags, random.chance(0.5) ? 0 : on, bytes(4)),
    () => frame(PRIORITY, flags, on, bytes(5)),
    () => frame(goaway, flags, 0, bytes(8)),
    () => frame(CONTINUATION, flags, on, bytes(10)),
    () => frame(PROMISE, flags, on, bytes(10)),
    () => frame(UNKNOWN, flags, on, bytes(10)),
    () => frame(headers, flags, on, bytes(random.below(50))),
  ])();
}

/** Violations in the frames of a server. The last one may be cut off. */
export function frameProblems(bytes: Buffer): string[] {
  const ended = new Set<number>();
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    const [type = 0, flags = 0] = bytes.subarray(at + 3);
    const stream = bytes.readUInt32BE(at + 5);
    const name = `frame ${type} of ${length} bytes on stream ${stream} at ${at}`;
    if (length > MOST_FRAME_BYTES) return [`${name}: too large`];
    const isOfStream = type === data || type === headers || type === CONTINUATION;
    if (isOfStream && stream % 2 === 0) return [`${name}: no stream of the client`];
    if (isOfStream && ended.has(stream)) return [`${name}: behind the end of the stream`];
    if (type === reset || ((type === data || type === headers) && (flags & END_STREAM) > 0)) {
      ended.add(stream);
    }
    at += HEAD_BYTES + length;
  }
  return [];
}
