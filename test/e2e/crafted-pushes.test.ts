/** Pushes that git itself would not send, by a user without rights on any object. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { git } from '../support/git.ts';
import { pushRequest, receiveByPath, sendPush } from '../support/receive-pack.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';

let daemon: Daemon;
let clone: string;
let pusher: { name: string; key: string };

beforeAll(async () => {
  daemon = await startDaemon();
  clone = await daemon.clone();
  const created = async (path: string, body: object) => {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  };
  const metadata = { name: 'pusher' };
  await created(`${API}/users`, { metadata });
  const made = await created(`${API}/ownedaccesskeys`, { metadata, spec: { user: 'pusher' } });
  pusher = { name: 'pusher', key: made.spec.key };
  const rules = [{ nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] }];
  await created(`${RBAC}/clusterroles`, { metadata, rules });
  const apiGroup = 'rbac.authorization.k8s.io';
  await created(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'pusher' },
    subjects: [{ apiGroup, kind: 'User', name: 'pusher' }],
  });
});
afterAll(async () => {
  await daemon.stop();
});

test.each(['http', 'path'])(
  'a push over %s that names the branch twice is refused whole',
  async (road) => {
    await gitIn(daemon, clone, 'fetch', '-q');
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
    const from = git(clone, ['rev-parse', 'HEAD']);
    await commitFiles(daemon, clone, { 'README.txt': road });
    const harmless = git(clone, ['rev-parse', 'HEAD']);
    await commitFiles(daemon, clone, { 'users/made.yaml': manifest('User', 'made') });
    const forbidden = git(clone, ['rev-parse', 'HEAD']);
    const ref = 'refs/heads/main';
    const request = pushRequest(clone, [
      { ref, oldId: from, newId: harmless },
      { ref, oldId: harmless, newId: forbidden },
    ]);
    const hosted = join(daemon.dataDir, 'repo.git');
    const report =
      road === 'http' ? await sendPush(daemon, request, pusher) : receiveByPath(hosted, request);
    expect(report).toContain('ng refs/heads/main pre-receive hook declined');
    expect(report).not.toContain('ok refs/heads/main');
    expect(git(hosted, ['rev-parse', 'main'])).toBe(from);
    expect((await daemon.call('GET', `${API}/users/made`)).code).toBe(404);
  },
);
