/** Runs a planned connection, and judges the answers on it. */
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Http1Answers } from './http1-answers.ts';
import { frameProblems } from './http2-bytes.ts';
import type { Plan } from './plans.ts';

export interface Ports {
  readonly tls: number;
  readonly plain: number;
}

/** Longer than any answer takes on a busy machine. */
const ANSWER_MS = 60_000;
const ENDS_MS = 2 * ANSWER_MS;

/** Returns what is wrong with the answers. */
export async function runPlan(plan: Plan, ports: Ports): Promise<string[]> {
  const abort = new AbortController();
  const late = sleep(ENDS_MS, ['The connection does not end'], abort);
  const problems = await Promise.race([converse(plan, ports), late]);
  abort.abort();
  late.catch(() => undefined);
  return problems;
}

async function converse(plan: Plan, ports: Ports): Promise<string[]> {
  const port = plan.transport === 'plain' ? ports.plain : ports.tls;
  const tcp = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
  tcp.on('error', () => undefined);
  const stream = plan.transport === 'tls' ? overTls(plan, tcp) : tcp;
  // TLS takes the handle of the connection below it, which may emit nothing any more.
  const closed = new Promise<void>((resolve) => {
    for (const one of [tcp, stream]) one.once('close', () => resolve());
  });
  const reader = read(plan, stream, closed);
  const opened = plan.transport === 'tls' ? 'secureConnect' : 'connect';
  await Promise.race([new Promise((resolve) => stream.once(opened, resolve)), closed]);
  if (plan.renegotiates) (stream as TLSSocket).renegotiate({}, () => undefined);
  for (const [at, piece] of plan.pieces.entries()) {
    const pause = plan.pauses[at] ?? 0;
    if (pause > 0) await sleep(pause);
    if (stream.writable) stream.write(piece);
  }
  if (plan.noise !== undefined && tcp.writable) tcp.write(plan.noise);
  if (plan.isPatient) await reader.answered();
  else await Promise.race([sleep(plan.lingerMs), closed]);
  const problems = reader.problems();
  end(plan, tcp, stream);
  if (plan.end === 'half') await Promise.race([sleep(plan.lingerMs), closed]);
  stream.destroy();
  tcp.destroy();
  await closed;
  return problems;
}

function end(plan: Plan, tcp: Socket, stream: Duplex): void {
  if (plan.end === 'half') stream.end();
  else if (plan.end === 'reset') tcp.resetAndDestroy();
}

function overTls(plan: Plan, tcp: Socket): TLSSocket {
  const socket = connectTls({
    socket: plan.wireBytes === undefined ? tcp : cutWire(tcp, plan.wireBytes),
    // It is the own daemon, whatever it says.
    rejectUnauthorized: false,
    ALPNProtocols: [plan.protocol],
    ...(plan.renegotiates ? { maxVersion: 'TLSv1.2' } : {}),
  });
  socket.on('error', () => undefined);
  return socket;
}

/** The connection below TLS, which ends behind a number of bytes. */
function cutWire(tcp: Socket, bytes: number): Duplex {
  let left = bytes;
  const wire = new Duplex({
    read: () => void tcp.resume(),
    write: (part: Buffer, _encoding, done) => {
      const isCut = part.length > left;
      if (tcp.writable) tcp.write(part.subarray(0, left));
      left -= Math.min(left, part.length);
      if (isCut) tcp.end(() => tcp.destroy());
      done();
    },
    final: (done) => void tcp.end(done),
    destroy: (_error, done) => {
      tcp.destroy();
      done(null);
    },
  });
  tcp.on('data', (part) => wire.push(part));
  tcp.once('close', () => wire.destroy());
  return wire;
}

interface Reader {
  /** Resolves when all requests are answered, or the server closed the connection. */
  answered(): Promise<void>;
  problems(): string[];
}

function read(plan: Plan, stream: Duplex, closed: Promise<void>): Reader {
  if (plan.protocol === 'h2') return readFrames(plan, stream);
  const { asked, isPatient, transport } = plan;
  const answers = new Http1Answers(asked.map(({ method }) => method));
  const done = new Promise<void>((resolve) => {
    stream.on('data', (part: Buffer) => {
      answers.push(part);
      const isComplete = answers.count >= asked.length || answers.isOver;
      if (isComplete || answers.problems.length > 0) resolve();
    });
    stream.once('end', resolve);
    void closed.then(resolve);
  });
  if (!plan.reads) stream.pause();
  // A damaged HEAD may be another method, and a TLS port answers bytes of plain TCP with no HTTP.
  const isJudged =
    isPatient || (transport !== 'tcp' && asked.every(({ method }) => method !== 'HEAD'));
  return {
    answered: async () => {
      const late = sleep(ANSWER_MS, 'late', { ref: false });
      if ((await Promise.race([done, late])) !== 'late') return;
      answers.problems.push(`${answers.count} of ${asked.length} requests answered in time`);
    },
    problems: () => {
      const { count, isOver, problems } = answers;
      if (problems.length === 0 && isPatient && !isOver && count < asked.length) {
        problems.push(`${count} of ${asked.length} requests answered before the end`);
      }
      return isJudged ? problems : [];
    },
  };
}

function readFrames({ reads }: Plan, stream: Duplex): Reader {
  const parts: Buffer[] = [];
  if (reads) stream.on('data', (part: Buffer) => parts.push(part));
  return {
    answered: () => Promise.resolve(),
    problems: () => frameProblems(Buffer.concat(parts)),
  };
}
