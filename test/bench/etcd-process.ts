/** A real etcd of one or three members on the loopback interface, its data on the disk of the run. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './daemon-process.ts';
import { HttpConnection, requestBytes } from './http-connection.ts';
import type { Workspace } from './workspace.ts';

const ETCD = 'etcd';
const HEALTHY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

export interface EtcdProcesses {
  /** `127.0.0.1:PORT` each. */
  readonly endpoints: readonly string[];
  kill(): void;
}

/** Why rows with replicas cannot be measured here; undefined: they can. */
export function etcdMissing(): string | undefined {
  try {
    execFileSync(ETCD, ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'etcd is not installed (Debian has it as etcd-server)';
  }
}

/** Resolves when all members are healthy; rejects with what they said when they are not. */
export async function startEtcd(workspace: Workspace, members: 1 | 3): Promise<EtcdProcesses> {
  const all = await Promise.all(
    Array.from({ length: members }, async (_, index) => ({
      name: `m${index + 1}`,
      port: await freePort(),
      peer: `http://127.0.0.1:${await freePort()}`,
    })),
  );
  const initial = all.map(({ name, peer }) => `${name}=${peer}`).join(',');
  const children = all.map((one) => startMember(workspace, { ...one, initial }));
  try {
    await Promise.all(all.map(({ port }, index) => healthy(port, children[index])));
  } catch (error) {
    for (const { child } of children) child.kill('SIGKILL');
    throw error;
  }
  return {
    endpoints: all.map(({ port }) => `127.0.0.1:${port}`),
    kill: () => {
      for (const { child } of children) child.kill('SIGKILL');
    },
  };
}

interface Member {
  readonly child: ChildProcess;
  output(): string;
}

function startMember(
  workspace: Workspace,
  of: { name: string; port: number; peer: string; initial: string },
): Member {
  const { name, port, peer, initial } = of;
  const client = `http://127.0.0.1:${port}`;
  const args = ['--name', name, '--data-dir', workspace.path(`etcd-${name}`)];
  args.push('--logger=zap', '--log-outputs=stderr', '--log-level=warn');
  args.push('--initial-cluster', initial, '--initial-cluster-token', initial);
  args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
  args.push('--listen-client-urls', client, '--advertise-client-urls', client);
  const child = workspace.adopt(spawn(ETCD, args, { stdio: ['ignore', 'ignore', 'pipe'] }));
  let output = '';
  child.on('error', (error) => {
    output += error.message;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    // Slow disks make it talkative.
    output = (output + chunk).slice(-10_000);
  });
  return { child, output: () => output };
}

async function healthy(port: number, member: Member | undefined): Promise<void> {
  const end = performance.now() + HEALTHY_WITHIN_MS;
  while (member?.child.exitCode === null && performance.now() < end) {
    if (await isHealthy(port)) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`etcd does not become healthy:\n${member?.output()}`);
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const connection = await HttpConnection.open({ port });
    const { status } = await connection.send(requestBytes({ method: 'GET', path: '/health' }));
    connection.close();
    return status === 200;
  } catch {
    return false;
  }
}

/** Undefined when one of them is. */
export function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce(
    (all, one) => (all === undefined || one === undefined ? undefined : all + one),
    0,
  );
}
