/** One request to one replica, with an end: a process that is stopped answers nobody. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import type { Replica } from '../../support/replica.ts';

export interface Asked {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly body: any;
}

export interface Question {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly token: string;
}

const TIMEOUT_MS = 20_000;

/** Keeps connections, and opens new ones where the old ones were closed, as clients do. */
export class Asker {
  readonly #agent = new Agent({ keepAlive: true });

  /** Rejects when there is no whole answer. */
  ask(replica: Replica, question: Question): Promise<Asked> {
    const { method = 'GET', path, body, timeoutMs = TIMEOUT_MS, token } = question;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: replica.place.host,
          port: replica.port,
          method,
          path,
          agent: this.#agent,
          ca: authorityOf(replica),
          signal: AbortSignal.timeout(timeoutMs),
          headers: {
            authorization: `Bearer ${token}`,
            ...(bytes === undefined ? {} : { 'content-type': question.type ?? 'application/json' }),
            'content-length': String(bytes?.length ?? 0),
            ...question.headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const { statusCode: code = 0, headers } = response;
            resolve({ code, headers, text, body: jsonOf(text) });
          });
        },
      );
      sent.on('error', reject);
      sent.end(bytes);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function authorityOf(replica: Replica): Buffer {
  return readFileSync(join(replica.dataDir, 'tls/ca.crt'));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
