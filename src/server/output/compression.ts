/**
 * Large answers, compressed for who takes them so: when and how as the Kubernetes API server does it.
 * Never streams of events. What many ask for is compressed once.
 */
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { Mutex } from '../../concurrency/index.ts';
import { type Answer, bodyOf, lengthOf } from './answer.ts';

/** Below it costs both sides more than it saves on the way. */
const LEAST = 128 * 1024;
/** A larger one would take a thread, which others need for the disk, for too long. */
const MOST = 64 * 1024 * 1024;
const ENCODING = 'Accept-Encoding';

interface Asked {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Of the bytes that answers share, with the head that was before them. */
const known = new WeakMap<object, { readonly head: Buffer; readonly packed: Promise<Buffer> }>();
const compress = promisify(gzip);
/** One at a time: libuv has few threads. */
const mutex = new Mutex();

/** Undefined: the answer goes out as it is. Never rejects. */
export function compressed(asked: Asked, answer: Answer): Promise<Answer> | undefined {
  const { method, headers } = asked;
  if (method !== 'GET' || answer.code !== 200 || !takesGzip(headers)) return undefined;
  const length = lengthOf(answer);
  if (length <= LEAST || length > MOST) return undefined;
  return packedOf(answer).then(
    (packed) => withPacked(answer, packed),
    () => answer,
  );
}

/**
 * Without a weight, as Kubernetes reads it: who says more gets the plain bytes, which are always right.
 * Never with the session of a browser: other pages can measure how long its answers are.
 */
function takesGzip({ cookie, 'accept-encoding': accept }: Asked['headers']): boolean {
  if (accept === undefined || cookie !== undefined) return false;
  return String(accept)
    .split(',')
    .some((token) => token.trim().toLowerCase() === 'gzip');
}

const NOTHING = Buffer.alloc(0);

function packedOf(answer: Answer): Promise<Buffer> {
  const body = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(answer.body);
  const [head, shared] = answer.rest === undefined ? [NOTHING, body] : [body, answer.rest];
  const found = known.get(shared);
  if (found?.head.equals(head) === true) return found.packed;
  const packed = mutex.run(() => compress(bodyOf(answer), { level: constants.Z_BEST_SPEED }));
  known.set(shared, { head, packed });
  return packed;
}

function withPacked(answer: Answer, body: Buffer): Answer {
  const { code, contentType, warnings, headers } = answer;
  const vary = headers?.['vary'] === undefined ? ENCODING : `${headers['vary']}, ${ENCODING}`;
  const packed = { ...headers, 'content-encoding': 'gzip', vary };
  return { code, contentType, body, headers: packed, ...(warnings && { warnings }) };
}
