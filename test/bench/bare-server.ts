/** The parent's side of the servers that HTTP rows are compared with. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Workspace } from './workspace.ts';

/** What stands in for the daemon: the least that could answer so. */
export type ReferenceStyle =
  /** node:http (or node:https) with ready bytes. */
  | 'bare'
  /** The same bytes by way of the framework that the daemon uses. */
  | 'fastify'
  /** Objects in memory, written with JSON.stringify for every answer. */
  | 'stringify'
  /** Objects in memory: those with the label `label` are looked for, and written so. */
  | 'select'
  /** Answers that stay open; `push` writes the bytes to each of them. */
  | 'stream';

export interface ReadyAnswer {
  readonly style?: ReferenceStyle;
  /** Base64; of `stringify` and `select`: a list as JSON. */
  readonly body: string;
  readonly status: number;
  readonly label?: readonly [name: string, value: string];
  /** PEM; absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface BareServer {
  readonly port: number;
  readonly pid: number | undefined;
  /** Of `stream`. */
  push(): void;
  close(): void;
}

const PROGRAM = new URL('./reference-server.ts', import.meta.url);

export async function startBareServer(
  workspace: Workspace,
  answer: ReadyAnswer,
): Promise<BareServer> {
  const child = workspace.adopt(fork(fileURLToPath(PROGRAM)));
  child.send(answer);
  const [port] = (await once(child, 'message')) as [number];
  return { port, pid: child.pid, push: () => child.send('push'), close: () => child.disconnect() };
}
