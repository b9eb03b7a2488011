/** A random connection: its transport, its bytes, the places where they are cut, its end. */
import type { Random } from '../../support/random.ts';
import { randomFrames } from './http2-bytes.ts';
import { type Asked, randomRequest, type World, wholeRequest } from './requests.ts';

export interface Plan {
  readonly transport: 'tls' | 'plain' | 'tcp';
  readonly protocol: 'http/1.1' | 'h2';
  /** Requests of HTTP/1.1, of which the bytes may be a part. */
  readonly asked: readonly Asked[];
  /** True if each byte arrives as it was made, and the client waits for all answers. */
  readonly isPatient: boolean;
  readonly pieces: readonly Buffer[];
  /** Pauses before the pieces, in milliseconds. */
  readonly pauses: readonly number[];
  /** Bytes of the TLS connection after which its TCP connection ends; undefined: none. */
  readonly wireBytes: number | undefined;
  /** Bytes that are no TLS, in the middle of a TLS connection. */
  readonly noise: Buffer | undefined;
  readonly renegotiates: boolean;
  readonly reads: boolean;
  readonly end: 'close' | 'half' | 'reset';
  /** Time between the last byte and the end. */
  readonly lingerMs: number;
}

const MOST_REQUESTS = 6;
const MOST_PIECES = 4;
const MOST_PAUSE_MS = 15;
const MOST_LINGER_MS = 120;
/** About twice what a handshake takes. */
const MOST_WIRE_BYTES = 1500;

export function randomPlan(world: World, random: Random): Plan {
  const isPatient = random.chance(0.25);
  const transport = random.chance(0.6) ? 'tls' : random.chance(0.85) ? 'plain' : 'tcp';
  const protocol = transport === 'tls' && !isPatient && random.chance(0.4) ? 'h2' : 'http/1.1';
  const asked = protocol === 'h2' ? [] : pipeline(world, random, isPatient);
  let bytes =
    protocol === 'h2'
      ? randomFrames(world.token, random)
      : Buffer.concat(asked.map((a) => a.bytes));
  if (transport === 'tcp') bytes = randomBytes(random, bytes);
  if (!isPatient) bytes = damaged(bytes, random);
  const pieces = cut(bytes, random);
  const isOdd = transport === 'tls' && !isPatient;
  return {
    ...{ transport, protocol, asked, isPatient: isPatient && transport !== 'tcp', pieces },
    pauses: pieces.map(() => (random.chance(0.5) ? 0 : random.below(MOST_PAUSE_MS))),
    wireBytes: isOdd && random.chance(0.15) ? random.below(MOST_WIRE_BYTES) : undefined,
    noise: isOdd && random.chance(0.1) ? randomBytes(random, Buffer.alloc(0)) : undefined,
    renegotiates: isOdd && random.chance(0.05),
    reads: isPatient || random.chance(0.85),
    end: random.pick(['close', 'half', 'reset']),
    lingerMs: random.chance(0.3) ? 0 : random.below(MOST_LINGER_MS),
  };
}

function pipeline(world: World, random: Random, isPatient: boolean): Asked[] {
  const make = isPatient ? wholeRequest : randomRequest;
  return Array.from({ length: 1 + random.below(MOST_REQUESTS) }, () => make(world, random));
}

/** Behind the head of a TLS record, or as they are. */
function randomBytes(random: Random, before: Buffer): Buffer {
  const noise = Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
  const record = Buffer.from([random.pick([20, 21, 22, 23]), 3, 3, 0, noise.length]);
  return Buffer.concat(random.pick([[noise], [record, noise], [before, noise], [noise, before]]));
}

function damaged(bytes: Buffer, random: Random): Buffer {
  const kind = random.next();
  if (bytes.length === 0 || kind < 0.5) return bytes;
  if (kind < 0.85) return bytes.subarray(0, random.below(bytes.length));
  const changed = Buffer.from(bytes);
  changed[random.below(bytes.length)] = random.below(256);
  return changed;
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const places = Array.from({ length: random.below(MOST_PIECES) }, () =>
    random.below(bytes.length + 1),
  );
  const sorted = [0, ...places.sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, at) => bytes.subarray(sorted[at], end));
}

export function describePlan(number: number, plan: Plan): string {
  const { pieces, asked: _, ...rest } = plan;
  const texts = pieces.map((piece) => piece.toString('latin1'));
  return `connection ${number}: ${JSON.stringify({ ...rest, pieces: texts })}`;
}
