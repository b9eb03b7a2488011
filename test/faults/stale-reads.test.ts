/**
 * A leader that was stopped, or that etcd does not hear any more, believes for a moment that it leads.
 * What it is asked then, after another replica has acknowledged a write, it must not answer from what it
 * knew. Clients ask on connections that were there before, so that it answers them first of all.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { type Asked, Asker, authorityOf } from './replicas/ask.ts';
import { MERGE_PATCH, TEAMS } from './replicas/scene.ts';

const LONG = { timeout: 60_000, interval: 50 };
const READERS = 24;
const TEAM = `${TEAMS}/newest`;

/** A connection that nobody closes, whatever happens meanwhile. */
interface Line {
  ask(token: string): void;
  /** Of so many answers in order: what is shown, or the status where nothing is. */
  answered(count: number): Promise<string[]>;
  close(): void;
}

async function openLine(to: Replica): Promise<Line> {
  const socket = connect({ host: '127.0.0.1', port: to.port, ca: authorityOf(to) });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', (error) => {
    text += String(error);
  });
  await once(socket, 'secureConnect');
  const answers = (): string[] =>
    [
      ...text.matchAll(
        /HTTP\/1\.1 (\d+)(?:(?!HTTP\/1\.1)[\s\S])*?"(?:displayName":"(\d+)"|code":)/g,
      ),
    ].map(([, status = '', value]) => value ?? status);
  return {
    ask: (token) => {
      const head = [
        'host: 127.0.0.1',
        'accept: application/json',
        `authorization: Bearer ${token}`,
      ];
      socket.write(`GET ${TEAM} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    },
    answered: async (count) =>
      await vi.waitFor(() => {
        const found = answers();
        if (found.length < count) throw new Error(`${found.length} of ${count} answers:\n${text}`);
        return found;
      }, LONG),
    close: () => socket.destroy(),
  };
}

const title =
  ETCD_MISSING === undefined ? 'an old leader' : `an old leader (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  let asker: Asker;
  let values = 0;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1, args: ['--leader-lease', '2'] });
    asker = new Asker();
    const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team' };
    const made = { ...body, metadata: { name: 'newest' }, spec: { displayName: '0' } };
    const at = await set.elected();
    const create = { method: 'POST', path: TEAMS, body: made, token: set.token };
    await vi.waitFor(async () => expect((await asker.ask(at, create)).code).toBe(201), LONG);
  });

  afterEach(() => {
    for (const replica of set.replicas) {
      replica.resume();
      for (const proxy of replica.toEtcd) proxy.heal();
    }
  });

  afterAll(async () => {
    asker?.close();
    await set?.stop();
  });

  async function write(at: Replica): Promise<string> {
    const displayName = String(++values);
    const patch = { method: 'PATCH', path: TEAM, type: MERGE_PATCH, token: set.token };
    const body = { spec: { displayName } };
    await expect
      .poll(async () => {
        try {
          return (await asker.ask(at, { ...patch, body, timeoutMs: 15_000 })).code;
        } catch (error) {
          return String(error);
        }
      }, LONG)
      .toBe(200);
    return displayName;
  }

  function read(at: Replica): Promise<Asked | undefined> {
    const question = { path: TEAM, token: set.token };
    return asker.ask(at, question).catch(() => undefined);
  }

  function readers(at: Replica): Promise<(Asked | undefined)[]> {
    return Promise.all(Array.from({ length: READERS }, () => read(at)));
  }

  /** What was shown: a replica that does not know the newest state says so. */
  function shown(answers: readonly (Asked | undefined)[]): Set<string> {
    const whole = answers.filter((one) => one?.code === 200);
    return new Set(whole.map((one) => one?.body.spec.displayName as string));
  }

  async function pair(): Promise<{ old: Replica; other: Replica }> {
    const old = await set.elected();
    const other = set.replicas.find((one) => one !== old) as Replica;
    // Connections are there, and the leader knows that it leads.
    await expect.poll(async () => shown(await readers(old)).size, LONG).toBe(1);
    await readers(other);
    return { old, other };
  }

  test('a replica that resumes after a stop shows nothing of before', async () => {
    const { old, other } = await pair();
    const before = await write(old);
    const lines = await Promise.all(Array.from({ length: READERS }, () => openLine(old)));
    for (const line of lines) line.ask(set.token);
    await Promise.all(lines.map((line) => line.answered(1)));
    old.pause();
    // What etcd has for it is not waiting for it when it goes on: it has nothing but its clock.
    for (const proxy of old.toEtcd) proxy.blackhole();
    const newest = await write(other);
    for (const line of lines) line.ask(set.token);
    old.resume();
    const answers = await Promise.all(lines.map((line) => line.answered(2)));
    for (const proxy of old.toEtcd) proxy.heal();
    for (const line of lines) line.close();
    const seen = new Set(answers.map(([, second]) => second));
    expect(answers.map(([first]) => first)).toEqual(lines.map(() => before));
    expect([...seen].filter((value) => value !== newest && value !== '503')).toEqual([]);
    await expect.poll(async () => [...shown([await read(old)])], LONG).toEqual([newest]);
  });

  test('a replica that lost etcd shows nothing that another one has replaced', async () => {
    const { old, other } = await pair();
    const before = await write(old);
    let acknowledged: string | undefined;
    const wrong: string[] = [];
    let isOver = false;
    const look = async (): Promise<void> => {
      while (!isOver) {
        const atLeast = acknowledged;
        const [value] = shown([await read(old)]);
        if (atLeast !== undefined && value !== undefined && value !== atLeast) wrong.push(value);
      }
    };
    const looking = Promise.all(Array.from({ length: 8 }, look));
    for (const proxy of old.toEtcd) proxy.blackhole();
    const newest = await write(other);
    acknowledged = newest;
    const atOnce = await readers(other);
    for (const proxy of old.toEtcd) proxy.heal();
    await expect.poll(async () => [...shown([await read(old)])], LONG).toEqual([newest]);
    isOver = true;
    await looking;
    expect(wrong).toEqual([]);
    expect([...shown(atOnce)]).toEqual([newest]);
    expect(newest).not.toBe(before);
  });
});
