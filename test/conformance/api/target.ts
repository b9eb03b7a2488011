/** A server of the API, known by its address and a token of somebody who may do everything. */
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Target {
  /** Where `/api` and `/apis` are: `https://127.0.0.1:6443`, perhaps with a path. */
  readonly url: string;
  readonly token: string;
  /** PEM. */
  readonly ca: string;
}

export interface Asked {
  readonly method: string;
  /** From the root of the API on, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** Content-Type; null: none at all. Absent: JSON where there is a body. */
  readonly type?: string | null;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: nobody. */
  readonly token?: string | null;
}

export interface Answered {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Client {
  call(asked: Asked): Promise<Answered>;
  /** Lines of a stream as they come; `end` lets go of it. */
  stream(asked: Asked): Promise<Stream>;
  close(): void;
}

export interface Stream {
  readonly code: number;
  readonly headers: Answered['headers'];
  /** What came so far. */
  lines(): readonly string[];
  /** Resolves when there are so many lines, or the stream has ended, or it takes too long. */
  until(count: number): Promise<void>;
  end(): void;
}

const PATIENCE_MS = 20_000;
/** Retries of an answer with Retry-After. */
const RETRIES = 10;

export function clientOf(target: Target): Client {
  const agent = new Agent({ keepAlive: true, ca: target.ca, maxSockets: 32 });
  const send = (asked: Asked): ReturnType<typeof request> => {
    const { method, path, body, type, accept, token = target.token } = asked;
    const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = raw ? body : JSON.stringify(body);
    const named = type === undefined && body !== undefined ? 'application/json' : type;
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(named ? { 'content-type': named } : {}),
      ...(accept === undefined ? {} : { accept }),
      ...(bytes === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) }),
      'user-agent': 'conformance/v1',
      ...asked.headers,
    };
    const sent = request(`${target.url}${path}`, { method, headers, agent });
    sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error('no answer came')));
    sent.end(bytes);
    return sent;
  };
  const once = (asked: Asked): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const sent = send(asked);
      sent.on('error', reject);
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: code = 0, headers } = response;
          resolve({ code, headers, text: Buffer.concat(chunks).toString('utf8') });
        });
      });
    });
  return {
    // As client-go: an answer that asks for a retry is not the verdict.
    call: async (asked) => {
      for (let left = RETRIES; ; left--) {
        const answer = await once(asked);
        const { 'retry-after': seconds } = answer.headers;
        if (answer.code !== 503 || seconds === undefined || left === 0) return answer;
        await sleep(Number(seconds) * 1000);
      }
    },
    stream: (asked) =>
      new Promise((resolve, reject) => {
        const sent = send(asked);
        sent.on('error', reject);
        sent.on('response', (response) => {
          let text = '';
          let ended = false;
          let look = (): void => undefined;
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
            look();
          });
          response.on('error', () => undefined);
          response.on('close', () => {
            ended = true;
            look();
          });
          // What follows the last end of a line is not there yet.
          const lines = (): string[] => text.split('\n').slice(0, -1);
          resolve({
            code: response.statusCode ?? 0,
            headers: response.headers,
            lines,
            until: (count) =>
              new Promise((done) => {
                const timer = setTimeout(done, PATIENCE_MS);
                look = () => {
                  if (!ended && text.split('\n').length - 1 < count) return;
                  clearTimeout(timer);
                  done();
                };
                look();
              }),
            end: () => sent.destroy(),
          });
        });
      }),
    close: () => agent.destroy(),
  };
}
