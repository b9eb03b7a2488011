/** Mail over SMTP. The address of the server is checked as that of every other connection. */
import { connect, isIP, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { createTransport } from 'nodemailer';
import { deadline } from '../apimachinery/index.ts';
import { AddressRefusedError, guardedLookup, refuseAddress } from '../outbound/index.ts';
import { type Delivery, DeliveryError } from '../outbox/index.ts';
import { linesOf, type NotificationEvent, titleOf } from './event.ts';

export interface MailServer {
  readonly host: string;
  readonly port?: number | undefined;
  readonly tls?: 'StartTLS' | 'Implicit' | 'None' | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM certificates to trust beside the authorities of Node. */
  readonly ca?: string | undefined;
  readonly from: string;
  readonly to: readonly string[];
}

const PORTS = { StartTLS: 587, Implicit: 465, None: 25 } as const;
const STEP_MS = 10_000;
/** Of a mail as a whole: a server that answers a byte from time to time meets no limit of a step. */
const MAIL_MS = 60_000;
/** All replies to one mail. The library queues replies that nothing waits for, in time that grows with the queue. */
const MAX_REPLY_BYTES = 256 * 1024;
const COUNT_MS = 20;

/** Rejects with DeliveryError. */
export async function sendMail(
  {
    delivery,
    event,
    source,
    deadlineMs = MAIL_MS,
  }: {
    delivery: Pick<Delivery, 'id'>;
    event: NotificationEvent;
    source: string;
    deadlineMs?: number;
  },
  server: MailServer,
  signal: AbortSignal,
): Promise<void> {
  const { host, tls = 'StartTLS', username: user, password: pass, ca, from, to } = server;
  const address = await addressOf(host);
  const port = server.port ?? PORTS[tls];
  const limit = deadline(deadlineMs, signal);
  let socket: Socket | undefined;
  const transport = createTransport({
    host: address,
    port,
    // `close()` of the transport leaves a running mail alone, so an abort destroys its socket.
    getSocket: (_options, done) => {
      socket = connectTo(address, port, done);
      if (limit.aborted) abort();
    },
    secure: tls === 'Implicit',
    requireTLS: tls === 'StartTLS',
    ignoreTLS: tls === 'None',
    tls: {
      // An address is no name for the server to choose a certificate by.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    },
    ...(user === undefined || pass === undefined ? {} : { auth: { user, pass } }),
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const abort = (): void => void socket?.destroy(new Error('no time is left'));
  limit.addEventListener('abort', abort);
  // Below TLS no bytes pass through JavaScript, so the counter of the socket is read.
  const counting = setInterval(() => {
    if ((socket?.bytesRead ?? 0) > MAX_REPLY_BYTES) socket?.destroy(new Error('too many replies'));
  }, COUNT_MS);
  try {
    await transport.sendMail({
      from,
      to: [...to],
      subject: `[gitplane] ${titleOf(event)}`,
      // Mail servers and readers recognise a repetition by it.
      messageId: `<${delivery.id}@gitplane>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      text: `${titleOf(event)} (${source})\n\n${linesOf(event).join('\n')}\n`,
    });
  } catch (cause) {
    if (!limit.aborted || signal.aborted) throw asDeliveryError(host, cause);
    const message = `The mail server ${host} did not take it within ${deadlineMs} ms`;
    throw new DeliveryError(message, { problem: 'unavailable', cause });
  } finally {
    clearInterval(counting);
    limit.removeEventListener('abort', abort);
    transport.close();
  }
}

/** Nodemailer adds its own time limits once the connection is there. */
function connectTo(
  host: string,
  port: number,
  done: (error: Error | null, options: { connection: Socket } | undefined) => void,
): Socket {
  const socket = connect({ host, port, timeout: STEP_MS });
  const failed = (error: Error): void => done(error, undefined);
  const late = (): void => void socket.destroy(new Error('no connection in time'));
  socket.once('error', failed);
  // An abort while the library has no listener yet must not end the process.
  socket.on('error', () => undefined);
  socket.once('timeout', late);
  socket.once('connect', () => {
    socket.off('error', failed);
    socket.off('timeout', late);
    socket.setTimeout(0);
    done(null, { connection: socket });
  });
  return socket;
}

/** Resolved here, because the library connects to any address. */
async function addressOf(host: string): Promise<string> {
  try {
    refuseAddress(host);
    if (isIP(host) !== 0) return host;
    return await new Promise((resolve, reject) => {
      guardedLookup(host, { all: false }, (error, address) => {
        if (error === null && typeof address === 'string') resolve(address);
        else reject(error ?? new Error('no address'));
      });
    });
  } catch (cause) {
    const why = cause instanceof AddressRefusedError ? cause.message : 'its name has no address';
    throw new DeliveryError(`Cannot reach ${host}: ${why}`, { problem: 'unavailable', cause });
  }
}

/** A server that refuses a sender, a recipient or the text says so with 5xx; 4xx is for a while. */
function asDeliveryError(host: string, cause: unknown): DeliveryError {
  const { responseCode, code = 'no reason' } = cause as {
    readonly responseCode?: number;
    readonly code?: string;
  };
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isRefused = isOfMail && responseCode !== undefined && responseCode >= 500;
  const answered = responseCode === undefined ? code : `${code} ${responseCode}`;
  const problem = isRefused ? 'refused' : 'unavailable';
  return new DeliveryError(`The mail server ${host} does not take it: ${answered}`, {
    problem,
    cause,
  });
}
