/** The parent's side of the bare server that HTTP rows are compared with. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Workspace } from './workspace.ts';

export interface ReadyAnswer {
  /** Base64. */
  readonly body: string;
  readonly status: number;
  /** PEM; absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface BareServer {
  readonly port: number;
  close(): void;
}

const PROGRAM = new URL(`./reference-server${extname(import.meta.url)}`, import.meta.url);

export async function startBareServer(
  workspace: Workspace,
  answer: ReadyAnswer,
): Promise<BareServer> {
  const child = workspace.adopt(fork(fileURLToPath(PROGRAM)));
  child.send(answer);
  const [port] = (await once(child, 'message')) as [number];
  return { port, close: () => child.disconnect() };
}
