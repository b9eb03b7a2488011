/** A daemon that is told to stop answers what it has taken, and says so to those who come late. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { API, EXAMPLE_PLATFORM, scratchDir } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

async function spawned(): Promise<{ child: ChildProcess; port: number; dataDir: string }> {
  const port = await freePort();
  const dataDir = join(scratchDir(), 'data');
  const args = ['serve', '--data-dir', dataDir, '--listen', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [MAIN, ...args, '--seed', EXAMPLE_PLATFORM], {
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, port, dataDir };
}

interface Reply {
  readonly code: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

function call(port: number, path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const of = { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false };
    const sent = request(of, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ code: response.statusCode ?? 0, text, headers: response.headers }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function ready(port: number): Promise<void> {
  await vi.waitFor(async () => expect((await call(port, '/readyz')).code).toBe(200), {
    interval: 1,
  });
}

describe('SIGTERM', () => {
  test('answers requests and exits with 0 at the first 200 of /readyz', async () => {
    const { child, port, dataDir } = await spawned();
    const ended = once(child, 'exit');
    await ready(port);
    child.kill('SIGTERM');
    const headers = { authorization: `Bearer ${adminToken(dataDir)}` };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call(port, `${API}/teams`, headers)),
    );
    for (const { code, text } of answers) {
      expect([200, 503], text).toContain(code);
      expect(JSON.parse(text)).toHaveProperty('kind');
    }
    expect(await ended).toEqual([0, null]);
  });

  test('ends it with 0 while a client opens connections that send nothing', async () => {
    const { child, port } = await spawned();
    const ended = once(child, 'exit');
    await ready(port);
    const open = (): void => void connect(port, '127.0.0.1').on('error', () => undefined);
    const opening = setInterval(open, 50);
    onTestFinished(() => clearInterval(opening));
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test('ends a start with 0', async () => {
    const { child, dataDir } = await spawned();
    const ended = once(child, 'exit');
    await vi.waitFor(() => expect(existsSync(join(dataDir, 'repo.git'))).toBe(true), {
      interval: 1,
    });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test('connections that wait to be accepted get a Status, and the way to come back', async () => {
    const { child, port } = await spawned();
    const ended = once(child, 'exit');
    await ready(port);
    // The process is not scheduled: the system completes connections that it has not accepted.
    child.kill('SIGSTOP');
    const waiting = Array.from({ length: 8 }, () => call(port, `${API}/teams`));
    const probe = connect(port, '127.0.0.1');
    await once(probe, 'connect');
    probe.destroy();
    child.kill('SIGTERM');
    child.kill('SIGCONT');
    for (const { code, text, headers } of await Promise.all(waiting)) {
      expect([401, 503]).toContain(code);
      expect(JSON.parse(text)).toMatchObject({ kind: 'Status' });
      if (code === 503) expect(headers['retry-after']).toBe('1');
    }
    expect(await ended).toEqual([0, null]);
  });
});

function adminToken(dataDir: string): string {
  return readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
}
