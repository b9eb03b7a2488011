/** A push as a client other than git sends it: any commands, in any order, over HTTP or by path. */
import { execFileSync, spawnSync } from 'node:child_process';
import type { Daemon } from './daemon.ts';
import { gitEnv } from './git.ts';

export interface RefCommand {
  readonly ref: string;
  readonly oldId: string;
  readonly newId: string;
}

export const NO_OBJECT = '0'.repeat(40);

/** The request to `git-receive-pack`, with the objects of a clone that the commands need. */
export function pushRequest(
  clone: string,
  commands: readonly RefCommand[],
  of: { readonly capabilities?: string; readonly lines?: readonly string[] } = {},
): Buffer {
  const { capabilities = 'report-status' } = of;
  const texts = of.lines ?? commands.map(({ oldId, newId, ref }) => `${oldId} ${newId} ${ref}`);
  const lines = texts.map((text, index) =>
    packetLine(`${text}${index === 0 ? `\0${capabilities}` : ''}`),
  );
  const made = commands.map(({ newId }) => newId).filter((id) => id !== NO_OBJECT);
  const had = commands.map(({ oldId }) => oldId).filter((id) => id !== NO_OBJECT);
  const revisions = [...made, ...had.filter((id) => !made.includes(id)).map((id) => `^${id}`)];
  const pack = execFileSync('git', ['pack-objects', '--revs', '--stdout', '-q'], {
    cwd: clone,
    env: gitEnv,
    input: `${revisions.join('\n')}\n`,
  });
  return Buffer.concat([Buffer.from(`${lines.join('')}0000`), pack]);
}

/** Sends a request as a user, and returns the report. */
export async function sendPush(
  daemon: Daemon,
  request: Buffer,
  user: { readonly name: string; readonly key: string },
): Promise<string> {
  const password = Buffer.from(`${user.name}:${user.key}`).toString('base64');
  const { text } = await daemon.call('POST', '/git/platform.git/git-receive-pack', {
    body: request,
    type: 'application/x-git-receive-pack-request',
    headers: { authorization: `Basic ${password}` },
    token: null,
  });
  return text;
}

/** The same without the daemon's server: the hook judges it as a push by path. */
export function receiveByPath(gitDir: string, request: Buffer): string {
  const args = ['receive-pack', '--stateless-rpc', gitDir];
  const { stdout, stderr } = spawnSync('git', args, { env: gitEnv, input: request });
  return `${stdout}${stderr}`;
}

/** A line of the protocol: its length in hex before it. */
function packetLine(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
}
