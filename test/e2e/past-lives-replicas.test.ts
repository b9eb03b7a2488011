/** A name that is used again opens nothing of what had it before, whichever replica is asked. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, RBAC, run } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const DEAD = Buffer.from('planted-Qm4Tz8Wd1Lx').toString('base64');
const LIVING = Buffer.from('the-new-one').toString('base64');
const SECRETS = `${API}/namespaces/vault/sharedsecrets`;
const NAMED = 'fieldSelector=metadata.name%3Dold';
const apiGroup = 'rbac.authorization.k8s.io';
const merge = 'application/merge-patch+json';
const FORGED = 'k9';

const title = ETCD_MISSING === undefined ? 'replicas' : `replicas (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  let owner: string;
  let before: string;
  let since: string;

  async function made(daemon: Daemon, path: string, body: object, token = daemon.token) {
    const answer = await daemon.call('POST', path, { body, token });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  }

  const version = async (daemon: Daemon): Promise<string> =>
    (await daemon.call('GET', SECRETS)).json().metadata.resourceVersion;

  /** Commit of a user who may push, which calls itself an update that the owner made. */
  async function pushForged(daemon: Daemon): Promise<void> {
    const clone = await daemon.clone();
    writeFileSync(join(clone, 'note.txt'), 'a note');
    await daemon.git(['add', '.'], clone);
    const message = `update SharedSecret "vault/old"\n\nIdempotency-Key: ${FORGED}\n`;
    const names = ['-c', 'committer.name=gitplane', '-c', 'committer.email=a@example.com'];
    const author = ['--author', 'owner <o@example.com>'];
    await run('git', [...names, 'commit', '-q', ...author, '-m', message], { cwd: clone });
    const push = await daemon.git(['push', '-q', 'origin', 'HEAD:main'], clone);
    expect([push.code, push.stderr]).toEqual([0, expect.any(String)]);
  }

  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
    const { daemon } = await set.elected();
    const metadata = { name: 'owner' };
    const rules = [
      { apiGroups: ['management.gitplane.dev'], resources: ['sharedsecrets'], verbs: ['create'] },
    ];
    await made(daemon, `${API}/users`, { metadata, spec: {} });
    await made(daemon, `${RBAC}/clusterroles`, { metadata, rules });
    await made(daemon, `${RBAC}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'owner' },
      subjects: [{ apiGroup, kind: 'User', name: 'owner' }],
    });
    const key = await made(daemon, `${API}/ownedaccesskeys`, { metadata, spec: { user: 'owner' } });
    owner = key.spec.key;
    since = await version(daemon);
    await made(daemon, SECRETS, { metadata: { name: 'old' }, spec: { data: { a: DEAD } } });
    before = await version(daemon);
    await pushForged(daemon);
    expect((await daemon.call('DELETE', `${SECRETS}/old`)).code).toBe(200);
    const spec = { owner: { user: 'owner' }, data: { a: LIVING } };
    await made(daemon, SECRETS, { metadata: { name: 'old' }, spec }, owner);
  });

  afterAll(async () => {
    await set?.stop();
  });

  async function expectNothing({ daemon }: Replica): Promise<void> {
    const token = Buffer.from(
      JSON.stringify({ v: 'meta.k8s.io/v1', start: 'vault/a\0', rv: Number(before) }),
    ).toString('base64url');
    const paths = [
      `${SECRETS}?${NAMED}&resourceVersion=${before}&resourceVersionMatch=Exact`,
      `${SECRETS}?${NAMED}&continue=${token}`,
      `${SECRETS}?${NAMED}&watch=1&timeoutSeconds=1&resourceVersion=${since}`,
      `${SECRETS}?${NAMED}&watch=1&timeoutSeconds=1&resourceVersion=${before}`,
    ];
    for (const path of paths) {
      // The journal is there: what hides the object is the filter.
      const all = await daemon.call('GET', path, { token: set.token });
      expect(all.text, path).toContain(DEAD);
      const mine = await daemon.call('GET', path, { token: owner });
      expect(mine.code, mine.text).toBe(200);
      expect(mine.text).not.toContain(DEAD);
    }
  }

  test('show nothing of a dead object, whichever is asked, also after a restart', async () => {
    for (const replica of set.replicas) await expectNothing(replica);
    const leader = await set.elected();
    const follower = set.replicas.find((one) => one !== leader) as Replica;
    await follower.stop();
    await follower.start();
    const isReady = async (): Promise<number> => (await follower.daemon.call('GET', SECRETS)).code;
    await expect.poll(isReady).toBe(200);
    await expectNothing(follower);
  });

  test('show nothing of a dead object for a pushed commit that plays a write', async () => {
    const leader = await set.elected();
    // A new leader reads the earlier writes from the history.
    await leader.stop();
    const { daemon } = await set.elected();
    const answer = await daemon.call('PATCH', `${SECRETS}/old`, {
      body: { spec: { displayName: 'x' } },
      type: merge,
      token: owner,
      headers: { 'idempotency-key': FORGED },
    });
    expect(answer.text).not.toContain(DEAD);
    // The forged commit was taken for the write; else nothing was tested.
    expect([answer.code, answer.json().spec]).toEqual([200, undefined]);
  });
});
