/** Replicas as their clients see them: it does not matter which one is asked. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { get as tlsGet } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, scratchDir, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TEAMS = `${API}/teams`;

function team(name: string, displayName = name): object {
  const apiVersion = 'management.gitplane.dev/v1';
  return { apiVersion, kind: 'Team', metadata: { name }, spec: { displayName } };
}

const title = ETCD_MISSING === undefined ? 'replicas' : `replicas (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 3, members: 1 });
  });

  afterAll(async () => {
    await set?.stop();
  });

  async function followers(): Promise<[Replica, Replica]> {
    const leader = await set.elected();
    const [a, b] = set.replicas.filter((one) => one !== leader && one.isRunning);
    if (a === undefined || b === undefined) throw new Error('two replicas follow');
    return [a, b];
  }

  test('a replica that cannot start names the reason and ends, although it was elected meanwhile', async () => {
    const stateKey = join(scratchDir(), 'state.key');
    writeFileSync(stateKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const args = ['--state', set.etcd.state, '--etcd-prefix', '/alone/', '--state-key', stateKey];
    const start = startDaemon({ args: [...args, '--listen-peer', `127.0.0.1:${port}`] });
    await expect(start).rejects.toThrow(/ended with \d+:[\s\S]*Elected[\s\S]*choose another with/);
    taken.close();
  });

  test('kubectl works against a replica that does not lead', async () => {
    const [{ daemon }] = await followers();
    const input = JSON.stringify(team('kubectl', 'one'));
    const applied = await daemon.kubectl(['apply', '-f', '-'], { input });
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    const got = await daemon.kubectl(['get', 'team', 'kubectl', '-o', 'name']);
    expect(got.stdout.trim()).toBe('team.management.gitplane.dev/kubectl');
    const labelled = await daemon.kubectl(['label', 'team', 'kubectl', 'a=b']);
    expect(labelled.code).toBe(0);
    const listed = await daemon.kubectl(['get', 'teams', '-l', 'a=b', '-o', 'name']);
    expect(listed.stdout.trim()).toBe('team.management.gitplane.dev/kubectl');
    expect((await daemon.kubectl(['get', 'namespaces'])).code).toBe(0);
    expect((await daemon.kubectl(['delete', 'team', 'kubectl'])).code).toBe(0);
    expect((await daemon.kubectl(['get', 'team', 'kubectl'])).code).not.toBe(0);
  });

  test('a write through one replica is read through any other at once', async () => {
    for (let i = 0; i < 27; i++) {
      const to = set.replicas[i % 3]?.daemon;
      const from = set.replicas[(i + 1 + Math.floor(i / 3)) % 3]?.daemon;
      const body = team(`ryw-${i}`);
      const made = await to?.call('POST', TEAMS, { body });
      expect([i, made?.code, made?.code === 201 ? '' : made?.text]).toEqual([i, 201, '']);
      const read = await from?.call('GET', `${TEAMS}/ryw-${i}`);
      expect([i, read?.code]).toEqual([i, 200]);
      expect(read?.json().metadata.resourceVersion).toBe(made?.json().metadata.resourceVersion);
    }
  });

  test('the leader shows the metrics of the branch beside those of its own requests', async () => {
    const leader = await set.elected();
    expect((await leader.daemon.call('POST', TEAMS, { body: team('measured') })).code).toBe(201);
    const values = async ({ daemon }: Replica, name: string): Promise<number[]> => {
      const { text } = await daemon.call('GET', '/metrics');
      expect(text.match(new RegExp(`^# TYPE ${name} `, 'gm'))).toHaveLength(1);
      return [...text.matchAll(new RegExp(`^${name}(?:{.*})? (.*)$`, 'gm'))].map(([, value]) =>
        Number(value),
      );
    };
    const [published] = await values(leader, 'gitplane_published_commits_total');
    expect(published).toBeGreaterThan(0);
    expect(await values(leader, 'gitplane_leader')).toEqual([1]);
    expect(await values(leader, 'gitplane_last_applied_commit_age_seconds')).not.toContain(NaN);
    expect(await values(leader, 'process_start_time_seconds')).toHaveLength(1);
    for (const one of await followers()) {
      expect(await values(one, 'gitplane_published_commits_total')).toEqual([0]);
      expect(await values(one, 'gitplane_leader')).toEqual([0]);
    }
  });

  test('a replica that does not lead answers summaries and searches with the state of the leader', async () => {
    const [{ daemon }] = await followers();
    const { replicas } = (await daemon.call('GET', '/summary')).json();
    const urls = set.replicas.map((one) => one.daemon.url).sort();
    expect(replicas.items.map(({ url }: { url: string }) => url).sort()).toEqual(urls);
    const leader = replicas.items.find(({ id }: { id: string }) => id === replicas.leader);
    expect(leader?.url).toBe((await set.elected()).daemon.url);
    expect((await daemon.call('POST', TEAMS, { body: team('found-at-once') })).code).toBe(201);
    const { items } = (await daemon.call('GET', '/search?q=found-at-once')).json();
    expect(items).toMatchObject([{ kind: 'Team', name: 'found-at-once' }]);
  });

  test('an object that was pushed has the same bytes at each replica, with git as its manager', async () => {
    const { daemon: leader } = await set.elected();
    const clone = await leader.clone();
    writeFileSync(join(clone, 'pushed.yaml'), JSON.stringify(team('pushed')));
    await leader.git(['add', '-A'], clone);
    await leader.git(['commit', '-qm', 'A team'], clone);
    const { code, stderr } = await leader.git(['push'], clone);
    expect(code, stderr).toBe(0);
    for (const path of [`${TEAMS}/pushed`, TEAMS, `${TEAMS}?watch=1&timeoutSeconds=1`]) {
      const texts = [];
      for (const { daemon } of set.replicas) texts.push((await daemon.call('GET', path)).text);
      expect(texts[0]).toContain('"manager":"git"');
      expect(new Set(texts).size).toBe(1);
    }
  });

  test('a request with one idempotency key is one commit, at whichever replicas it arrives', async () => {
    const headers = { 'idempotency-key': 'the same' };
    const answers = await Promise.all(
      [...set.replicas, ...set.replicas].map(({ daemon }) =>
        daemon.call('POST', TEAMS, { body: team('once'), headers }),
      ),
    );
    const commits = answers.map((answer) => answer.headers['gitplane-commit']);
    expect(answers.map(({ code }) => code)).toEqual([201, 201, 201, 201, 201, 201]);
    expect(new Set(commits).size).toBe(1);
    const other = { body: team('once'), headers: { 'idempotency-key': 'another' } };
    const [a] = await followers();
    const reused = await a.daemon.call('POST', TEAMS, { body: team('twice'), headers });
    expect(reused.code).toBe(422);
    expect((await a.daemon.call('POST', TEAMS, other)).code).toBe(409);
  });

  test('clients do not get the headers of replicas', async () => {
    for (const { daemon } of set.replicas) {
      const refs = '/peer/platform.git/info/refs?service=git-upload-pack';
      for (const path of [refs, '/peer/platform.git/git-upload-pack', '/peer/uses']) {
        const method = path === refs ? 'GET' : 'POST';
        const answer = await daemon.call(method, path, { token: null, body: {} });
        expect([path, answer.code]).toEqual([path, 401]);
      }
    }
  });

  test('a watch that ends at one replica goes on at the next, and ends politely', async () => {
    const [a, b] = await followers();
    const list = await a.daemon.call('GET', TEAMS);
    const since = list.json().metadata.resourceVersion as string;
    const before = new Events(await openWatch(a, since));
    expect((await b.daemon.call('POST', TEAMS, { body: team('moved-1') })).code).toBe(201);
    await before.upTo('moved-1');
    const exit = await a.stop('SIGTERM');
    expect(exit).toBe(0);
    // The end of the stream, not a connection that is cut.
    expect(await before.end).toBe('end');
    expect((await b.daemon.call('POST', TEAMS, { body: team('moved-2') })).code).toBe(201);
    const after = new Events(await openWatch(b, before.version));
    await after.upTo('moved-2');
    expect([...before.names, ...after.names]).toEqual(['ADDED moved-1', 'ADDED moved-2']);
    await a.start();
    const isReady = async (): Promise<number> => (await a.daemon.call('GET', '/readyz')).code;
    await expect.poll(isReady).toBe(200);
    const again = new Events(await openWatch(a, since));
    await again.upTo('moved-2');
    expect(again.names).toEqual(['ADDED moved-1', 'ADDED moved-2']);
  });
});

async function openWatch({ daemon }: Replica, since: string): Promise<IncomingMessage> {
  const url = `${daemon.url}${TEAMS}?watch=1&resourceVersion=${since}`;
  const headers = { authorization: `Bearer ${daemon.token}` };
  const open = url.startsWith('https') ? tlsGet : get;
  return await new Promise((resolve, reject) => {
    open(url, { headers, agent: false, rejectUnauthorized: false }, resolve).once('error', reject);
  });
}

/** Events of a watch so far. */
class Events {
  readonly names: string[] = [];
  readonly end: Promise<string>;
  version = '';
  #text = '';

  constructor(stream: IncomingMessage) {
    this.end = new Promise((resolve) => {
      stream.once('end', () => resolve(stream.complete ? 'end' : 'cut'));
      stream.once('error', () => resolve('cut'));
      stream.once('close', () => resolve('cut'));
    });
    stream.on('data', (part: Buffer) => {
      this.#text += part.toString();
      const lines = this.#text.split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line);
        this.names.push(`${type} ${object.metadata?.name ?? JSON.stringify(object)}`);
        this.version = object.metadata?.resourceVersion ?? this.version;
      }
    });
  }

  async upTo(name: string): Promise<void> {
    await expect.poll(() => this.names.at(-1)).toBe(`ADDED ${name}`);
  }
}
