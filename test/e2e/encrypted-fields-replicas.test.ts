/**
 * Values that a file encrypts beside the secret fields of its kind, on a platform of three replicas that
 * sends notifications: no answer, log, metric, message and record of any replica shows one to a user who
 * may not read the object.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type Daemon, RBAC, run } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';
import { encryptedFor } from './encrypted-text.ts';

const CANARY = 'canary-5d03b7';
const FORMS = [CANARY, Buffer.from(CANARY).toString('base64').slice(0, 16)];
const GROUP = 'management.gitplane.dev';
const KEYS = ['data', 'displayName', 'description', 'example.org/purpose', 'owner', 'users'];
const patient = { timeout: 60_000, interval: 100 };

const title = ETCD_MISSING === undefined ? 'replicas' : `replicas (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  /** Bodies of requests to the webhook and to the chat, and mails. */
  const messages: string[] = [];
  const keys = new Map<string, string>();
  let receiver: Server;
  let mail: SMTPServer;
  let set: ReplicaSet;
  let clone: string;
  let before: string;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        messages.push(`${request.url} ${JSON.stringify(request.headers)} ${body}`);
        response.writeHead(204).end();
      });
    });
    mail = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, _session, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        stream.on('end', () => {
          messages.push(`mail ${text}`);
          done();
        });
      },
    });
    const ports = await Promise.all(
      [receiver, mail.server].map(
        (server) =>
          new Promise<number>((done) => {
            server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port));
          }),
      ),
    );
    const [port = 0, mailPort = 0] = ports;
    const env = { HOOK_KEY: 'whsec_plJ3nmyCDGBKInavdOK15jsl' };
    set = await startReplicas({ replicas: 3, members: 1, seed: undefined, env });
    await configured(port, mailPort);
    const verbs = ['create', 'update', 'patch', 'delete', 'deletecollection'];
    await user('cloner', []);
    await user('writer', [{ apiGroups: [GROUP], resources: ['teams', 'sharedsecrets'], verbs }]);
    clone = await follower().clone();
    before = await gitIn(follower(), clone, 'rev-parse', 'HEAD');
    await commitFiles(follower(), clone, {
      'teams/hidden.yaml': await encrypted(team('hidden')),
      'namespaces/default/sharedsecrets/hidden.yaml': await encrypted(secret()),
    });
    await gitIn(follower(), clone, 'push', '-q', 'origin', 'HEAD:main');
  });
  afterAll(async () => {
    await set?.stop();
    receiver?.closeAllConnections();
    receiver?.close();
    mail?.close();
  });

  function daemons(): readonly Daemon[] {
    return set.replicas.map(({ daemon }) => daemon);
  }

  function follower(): Daemon {
    const [first] = daemons();
    if (first === undefined) throw new Error('no replica runs');
    return first;
  }

  async function must(method: string, path: string, body: object): Promise<Answer> {
    const answer = await follower().call(method, path, { body, token: set.token });
    expect(answer.code, answer.text).toBeLessThan(300);
    return answer;
  }

  async function configured(port: number, mailPort: number): Promise<void> {
    const all = ['Held', 'Degraded', 'StoreOutOfStep', 'KeyExpired', 'Applied'];
    const raw = stringify({
      audit: {
        enabled: true,
        path: 'audit.log',
        policy: { rules: [{ level: 'RequestResponse' }] },
      },
      notifications: [
        {
          name: 'hook',
          events: all,
          webhook: { url: `http://127.0.0.1:${port}/hook`, secret: '$HOOK_KEY' },
        },
        { name: 'chat', events: all, slack: { url: `http://127.0.0.1:${port}/chat` } },
        {
          name: 'mail',
          events: all,
          email: {
            host: '127.0.0.1',
            port: mailPort,
            tls: 'None',
            from: 'gitplane@example.com',
            to: ['ops@example.com'],
          },
        },
      ],
    });
    await must('POST', `${API}/config`, { metadata: { name: 'main' }, spec: { raw } });
  }

  async function user(name: string, rules: readonly object[]): Promise<void> {
    const metadata = { name };
    await must('POST', `${API}/users`, { metadata, spec: {} });
    const key = await must('POST', `${API}/ownedaccesskeys`, { metadata, spec: { user: name } });
    keys.set(name, key.json().spec.key);
    const git = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
    await must('POST', `${RBAC}/clusterroles`, { metadata, rules: [git, ...rules] });
    const apiGroup = 'rbac.authorization.k8s.io';
    const roleRef = { apiGroup, kind: 'ClusterRole', name };
    const subjects = [{ apiGroup, kind: 'User', name }];
    await must('POST', `${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects });
  }

  function as(name: string): { readonly token: string } {
    return { token: keys.get(name) ?? '' };
  }

  function team(name: string, users = `[${CANARY}]`): string {
    return `apiVersion: ${GROUP}/v1
kind: Team
metadata:
  name: ${name}
  annotations:
    example.org/purpose: ${CANARY}
spec:
  displayName: ${CANARY}
  description: The ${CANARY} of the team
  owner:
    user: ${CANARY}
  users: ${users}
`;
  }

  function secret(): string {
    const data = `{ token: ${Buffer.from(CANARY).toString('base64')} }`;
    const spec = `\n  displayName: ${CANARY}\n  description: About ${CANARY}\n  data: ${data}\n`;
    return manifest('SharedSecret', 'hidden', spec, 'default');
  }

  function encrypted(text: string): Promise<string> {
    return encryptedFor(follower(), text, KEYS);
  }

  function expectHidden(text: string, of: string): void {
    for (const form of FORMS) {
      const at = text.indexOf(form);
      expect(at, `${of}: ${text.slice(Math.max(0, at - 500), at + 200)}`).toBe(-1);
    }
  }

  test('every replica serves the values to a reader, and to nobody else', async () => {
    const head = await gitIn(follower(), clone, 'rev-parse', 'HEAD');
    const paths = [
      `/compare?from=${before}`,
      '/commits?kind=Team&name=hidden',
      '/search?q=hidden',
      '/summary',
      '/sync',
      '/metrics',
      '/readyz?verbose',
      '/audit/events',
      ...[
        '',
        '/hidden',
        '/hidden/history',
        '/hidden/blame',
        '/hidden/source',
        '/hidden/status',
      ].map((end) => `${API}/teams${end}`),
      `${API}/teams?resourceVersion=0`,
      `${API}/teams?resourceVersion=0&watch=true&timeoutSeconds=1`,
      `${API}/teams?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
      `${API}/teams/hidden?atRevision=${head}`,
      `${API}/namespaces/default/sharedsecrets/hidden/source`,
      `${RBAC}/clusterroles`,
      `${RBAC}/clusterrolebindings?resourceVersion=0`,
      '/kubernetes/management/api/v1/events',
    ];
    for (const daemon of daemons()) {
      const read = await daemon.call('GET', `${API}/teams/hidden`, { token: set.token });
      expect(read.json().spec, daemon.url).toMatchObject({ displayName: CANARY });
      for (const path of paths) {
        for (const name of ['cloner', 'writer']) {
          const answer = await daemon.call('GET', path, as(name));
          expectHidden(answer.text + JSON.stringify(answer.headers), `${name} ${path}`);
        }
      }
      // Administrators read objects; none of these documents is about a single one.
      for (const path of ['/metrics', '/sync', '/readyz?verbose', '/healthz?verbose']) {
        const answer = await daemon.call('GET', path, { token: set.token });
        expectHidden(answer.text, path);
      }
    }
  });

  test('writes, dry runs and impersonation through every replica show none', async () => {
    const merge = 'application/merge-patch+json';
    for (const daemon of daemons()) {
      for (const [method, path] of [
        ['PATCH', `${API}/teams/hidden`],
        ['PATCH', `${API}/teams/hidden?dryRun=All&show=file,effect`],
        ['DELETE', `${API}/teams/hidden?dryRun=All`],
        ['DELETE', `${API}/teams?dryRun=All&fieldSelector=metadata.name=hidden`],
      ] as const) {
        const body = { metadata: { labels: { at: `p${daemon.port}` } } };
        const options = method === 'PATCH' ? { body, type: merge } : {};
        const answer = await daemon.call(method, path, { ...options, ...as('writer') });
        expect(answer.code, answer.text).toBeLessThan(500);
        expectHidden(answer.text + JSON.stringify(answer.headers), `${method} ${path}`);
      }
      for (const headers of [
        { 'impersonate-user': 'admin' },
        { 'impersonate-user': 'writer', 'impersonate-group': 'system:masters' },
        { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
        { 'gitplane-not-leader': 'refused', 'gitplane-state-version': '1' },
        { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' },
        { connection: 'authorization', 'x-forwarded-for': '::1' },
      ] as const) {
        for (const path of [`${API}/teams/hidden`, `${API}/teams/hidden/source`]) {
          const answer = await daemon.call('GET', path, { headers, ...as('cloner') });
          expect([401, 403], `${path} ${JSON.stringify(headers)}`).toContain(answer.code);
          expectHidden(answer.text, path);
        }
      }
    }
  });

  test('a plan of each replica masks them', async () => {
    const other = team('hidden').replaceAll(CANARY, `${CANARY}-2`);
    await commitFiles(follower(), clone, { 'teams/hidden.yaml': await encrypted(other) });
    const head = await gitIn(follower(), clone, 'rev-parse', 'HEAD');
    const pushed = await follower().git(['push', 'origin', 'HEAD:refs/heads/feature'], clone);
    expect(pushed.stderr).toContain('Replicas share only the branch main');
    for (const daemon of daemons()) {
      for (const body of [{ ref: 'feature' }, { revision: head }, { revision: before }]) {
        const plan = await daemon.call('POST', '/plan', { body, ...as('cloner') });
        expect(plan.code).toBeLessThan(500);
        expectHidden(plan.text, `plan of ${JSON.stringify(body)}`);
      }
    }
    await gitIn(follower(), clone, 'reset', '-q', '--hard', 'origin/main');
  });

  test('a degraded object reaches receivers without a value', async () => {
    const leader = await set.elected();
    const users = `[${CANARY}, ${CANARY}, { a: ${CANARY} }, '${CANARY} with blanks']`;
    await commitFiles(follower(), clone, {
      'teams/broken.yaml': await encrypted(team('broken', users)),
    });
    const refused = await follower().git(['push', 'origin', 'HEAD:main'], clone);
    expect(refused.code).not.toBe(0);
    expectHidden(refused.stderr, 'push');
    await gitIn(follower(), clone, 'fetch', '-q');
    await gitIn(follower(), clone, 'reset', '-q', '--hard', 'origin/main');
    await commitFiles(follower(), clone, {
      'teams/hidden.yaml': await encrypted(team('hidden', users)),
    });
    // By hand, without a verdict.
    const gitDir = join(leader.dataDir, 'repo.git');
    const moved = await run('git', ['--git-dir', gitDir, 'fetch', clone, 'HEAD:refs/heads/main']);
    expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
    const kinds = ['/hook', '/chat', 'mail'];
    await expect
      .poll(() => kinds.filter((kind) => reported(kind).includes('hidden')), patient)
      .toEqual(kinds);
    for (const message of messages) expectHidden(message, 'message');
  });

  function reported(kind: string): string {
    return messages.filter((one) => one.startsWith(kind) && /not valid|Degraded/.test(one)).join();
  }

  test('a write that a replica refuses itself is recorded without a value', async () => {
    const body = { metadata: { name: 'late' }, spec: { displayName: CANARY } };
    const large = { ...body, spec: { description: CANARY + 'x'.repeat(4_000_000) } };
    for (const daemon of daemons()) {
      const answer = await daemon.call('PUT', `${API}/teams/hidden`, {
        body: large,
        token: set.token,
      });
      expect(answer.code).toBe(413);
      expectHidden(answer.text, 'refusal');
    }
  });

  test('no file, output and record of any replica has one', async () => {
    const { stdout: records } = await set.etcd.ctl(['get', '', '--prefix']);
    expect(records).toContain('/gitplane/state/platform/');
    expectHidden(records, 'etcd');
    for (const replica of set.replicas) {
      await replica.stop();
      expectHidden(replica.output(), `output of ${replica.name}`);
      const audit = readFileSync(join(replica.dataDir, 'audit.log'), 'utf8');
      expect(audit).toContain('/teams/hidden');
      for (const name of readdirSync(replica.dataDir, { recursive: true, encoding: 'utf8' })) {
        const path = join(replica.dataDir, name);
        if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue;
        expectHidden(readFileSync(path).toString('latin1'), path);
      }
    }
  });
});
