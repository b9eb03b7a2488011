/** A watch as a client sees it: lines of a stream that goes on. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { Daemon } from '../support/daemon.ts';

export interface WatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of every shape
  readonly object: any;
}

export interface Watching {
  /** The events so far. */
  readonly events: readonly WatchEvent[];
  /** Resolves with all events once there are that many; rejects when the stream ends before. */
  atLeast(count: number): Promise<readonly WatchEvent[]>;
  /** Resolves with all events when the server ends the stream; rejects when it is cut. */
  ended(): Promise<readonly WatchEvent[]>;
  close(): void;
}

/** Resolves when the headers are there: from then on nothing is missed. */
export function watching(
  daemon: Daemon,
  path: string,
  { accept = '*/*', token = daemon.token }: { accept?: string; token?: string } = {},
): Promise<Watching> {
  const events: WatchEvent[] = [];
  const lookers = new Set<() => void>();
  let end: 'clean' | Error | undefined;
  const changed = (): void => {
    for (const look of [...lookers]) look();
  };
  const until = (done: () => boolean, whileOpen: boolean): Promise<readonly WatchEvent[]> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const over = end instanceof Error || (whileOpen && end === 'clean' && !done());
        if (!over && !done()) return;
        lookers.delete(look);
        if (over)
          reject(new Error(`The watch ended after ${JSON.stringify(events)}`, { cause: end }));
        else resolve(events);
      };
      lookers.add(look);
      look();
    });
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept };
    const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'));
    const sent = request(`${daemon.url}${path}`, { headers, ca, agent: false }, (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        events.push(...lines.map((line) => JSON.parse(line) as WatchEvent));
        changed();
      });
      response.on('end', () => {
        end = 'clean';
        changed();
      });
      response.on('error', (error) => {
        end = error;
        changed();
      });
      resolve({
        events,
        atLeast: (count) => until(() => events.length >= count, true),
        ended: () => until(() => end === 'clean', false),
        close: () => sent.destroy(),
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

export interface Printing {
  /** Resolves with what was printed so far once that matches; rejects when the program ends. */
  until(pattern: RegExp): Promise<string>;
  end(): void;
}

/** Starts a program that goes on printing. */
export function startPrinting(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Printing {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let look = (): void => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
      look();
    });
  }
  return {
    until: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (pattern.test(output)) resolve(output);
        };
        child.on('exit', (code) => reject(new Error(`It ended with ${code}: ${output}`)));
        look();
      }),
    end: () => child.kill('SIGKILL'),
  };
}
