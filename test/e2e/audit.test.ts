/** The audit log of the real daemon: what is in it, what never is, and what it joins to. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { watching } from './watching.ts';

const SECRET = 'planted-Tb6Yw1Qm4Zc9';
const ENCODED = Buffer.from(SECRET).toString('base64');
const CONFIG = `${API}/config/platform`;

// biome-ignore lint/suspicious/noExplicitAny: events have many shapes
type Event = any;

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

async function configure(audit: object): Promise<void> {
  const current = (await daemon.call('GET', CONFIG)).json();
  const raw = stringify({ audit: { enabled: true, ...audit } });
  const answer = await daemon.call('PUT', CONFIG, { body: { ...current, spec: { raw } } });
  expect(answer.code, answer.text).toBe(200);
}

function events(name: string): Event[] {
  return readFileSync(join(daemon.dataDir, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Waits for the event of a request, by the id that its answer had. */
async function eventOf(name: string, id: unknown, stage = 'ResponseComplete'): Promise<Event> {
  const find = (): Event =>
    events(name).find((event) => event.auditID === id && event.stage === stage);
  await expect.poll(find, { timeout: 20_000 }).toBeDefined();
  return find();
}

describe('an event', () => {
  test('says who did what, and joins to the commit and back', async () => {
    await configure({ path: 'all.log', policy: { rules: [{ level: 'RequestResponse' }] } });
    const body = { metadata: { name: 'joined' }, spec: { users: ['ann'] } };
    const made = await daemon.call('POST', `${API}/teams?access_token=${SECRET}`, {
      body,
      headers: { 'user-agent': 'x'.repeat(2000) },
    });
    expect(made.code, made.text).toBe(201);
    const id = made.headers['audit-id'];
    const event = await eventOf('all.log', id);
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'RequestResponse',
      verb: 'create',
      user: { username: 'admin', groups: expect.arrayContaining(['system:authenticated']) },
      sourceIPs: ['127.0.0.1'],
      objectRef: { resource: 'teams', apiGroup: 'management.gitplane.dev', apiVersion: 'v1' },
      responseStatus: { code: 201 },
      requestObject: body,
      responseObject: { metadata: { name: 'joined' } },
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'gitplane.dev/revision': made.headers['gitplane-commit'],
      },
    });
    expect(event.userAgent).toHaveLength(1024 + '...TRUNCATED'.length);
    expect(event.requestReceivedTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(await eventOf('all.log', id, 'RequestReceived')).not.toHaveProperty('requestObject');
    const pretty = await daemon.call('GET', `${API}/teams/joined?pretty=true`);
    expect(pretty.text).toContain('\n');
    expect(await eventOf('all.log', pretty.headers['audit-id'])).toMatchObject({
      responseObject: { metadata: { name: 'joined' } },
    });
    const clone = await daemon.clone();
    const { stdout } = await daemon.git(
      ['log', '-1', '--format=%H %(trailers:key=Request-Id,valueonly)'],
      clone,
    );
    expect(stdout.trim()).toBe(`${made.headers['gitplane-commit']} ${id}`);
  });

  test('is made of what is refused as well, and of strangers, watches and git', async () => {
    const stranger = await daemon.call('GET', `${API}/teams`, { token: null });
    expect(await eventOf('all.log', stranger.headers['audit-id'])).toMatchObject({
      user: { username: 'system:anonymous' },
      responseStatus: { code: 401, status: 'Failure', reason: 'Unauthorized' },
    });
    const wrong = await daemon.call('POST', `${API}/teams`, { body: '{' });
    expect(await eventOf('all.log', wrong.headers['audit-id'])).toMatchObject({
      responseStatus: { code: 400 },
      annotations: { 'gitplane.dev/request-object-omitted': 'decode-failed' },
    });
    const watch = await watching(daemon, `${API}/teams?watch=true`);
    await expect.poll(() => events('all.log').some(isWatch('ResponseStarted'))).toBe(true);
    watch.close();
    await expect.poll(() => events('all.log').some(isWatch('ResponseComplete'))).toBe(true);
    expect(events('all.log').some((event) => event.requestURI.endsWith('/git-upload-pack'))).toBe(
      true,
    );
  });

  const isWatch =
    (stage: string) =>
    (event: Event): boolean =>
      event.verb === 'watch' && event.stage === stage;

  test('holds no secret, whatever is sent and however it fails', async () => {
    const secrets = `${API}/namespaces/default/sharedsecrets`;
    const metadata = { name: 'planted' };
    const spec = { data: { a: ENCODED } };
    const sent: [string, string, unknown, string?][] = [
      ['POST', secrets, { metadata, spec }],
      ['POST', secrets, { metadata, spec: { dta: { a: ENCODED } } }],
      ['POST', secrets, `{"spec": {"data": {"a": "${ENCODED}"}}`],
      ['PATCH', `${secrets}/planted`, { spec }, 'application/merge-patch+json'],
      [
        'PATCH',
        `${secrets}/planted`,
        [{ op: 'add', path: '/spec/data/b', value: ENCODED }],
        'application/json-patch+json',
      ],
      [
        'PATCH',
        `${secrets}/planted?fieldManager=x`,
        { apiVersion: 'management.gitplane.dev/v1', kind: 'SharedSecret', metadata, spec },
        'application/apply-patch+yaml',
      ],
      ['GET', secrets, undefined],
      ['GET', `${secrets}/planted`, undefined],
      ['POST', `${API}/ownedaccesskeys`, { metadata, spec: { user: 'admin' } }],
      ['POST', `${API}/directclusterendpointtokens`, { spec: {} }],
      [
        'PATCH',
        CONFIG,
        { spec: { raw: `auth: {oidc: {clientSecret: ${SECRET}, wrong: 1}}` } },
        'application/merge-patch+json',
      ],
      [
        'POST',
        '/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews',
        { spec: { token: SECRET } },
      ],
    ];
    const ids: unknown[] = [];
    let key = 'none';
    for (const [method, path, body, type = 'application/json'] of sent) {
      const answer = await daemon.call(method, path, {
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        type,
      });
      ids.push(answer.headers['audit-id']);
      if (path.endsWith('/ownedaccesskeys')) key = answer.json().spec.key;
    }
    for (const id of ids) await eventOf('all.log', id);
    const text = readFileSync(join(daemon.dataDir, 'all.log'), 'utf8');
    for (const secret of [SECRET, ENCODED, key, daemon.token]) expect(text).not.toContain(secret);
  });
});

test('a change of the configuration changes the policy and the file at once', async () => {
  await configure({ path: 'writes.log', level: 1 });
  await expect.poll(() => readdirSync(daemon.dataDir)).toContain('writes.log');
  const read = await daemon.call('GET', `${API}/teams`);
  const written = await daemon.call('DELETE', `${API}/teams/joined`);
  await eventOf('writes.log', written.headers['audit-id']);
  // What was still on its way from before the change is in the new file as well: nothing is lost.
  const stagesOf = (id: unknown): string[] =>
    events('writes.log').flatMap((event) => (event.auditID === id ? [event.stage] : []));
  expect(stagesOf(read.headers['audit-id'])).toEqual([]);
  expect(stagesOf(written.headers['audit-id'])).toEqual(['ResponseComplete']);
});

test('a log that cannot be written keeps nobody waiting, and nothing that waited is lost', async () => {
  writeFileSync(join(daemon.dataDir, 'taken'), 'a file');
  await configure({ path: 'taken/a.log', level: 2 });
  const first = await daemon.call('GET', `${API}/teams`);
  // The log before is used while the new one cannot be opened.
  await eventOf('writes.log', first.headers['audit-id']);
  expect(daemon.output()).toContain('The audit log is not as the configuration says');
  rmSync(join(daemon.dataDir, 'writes.log'));
  const second = await daemon.call('GET', `${API}/teams`);
  await eventOf('writes.log', second.headers['audit-id']);
  expect(readdirSync(daemon.dataDir)).toContain('writes.log');
  const metrics = (await daemon.call('GET', '/metrics')).text;
  expect(metrics).toMatch(/gitplane_audit_dropped_events_total\{sink="file"\} 0/);
});
