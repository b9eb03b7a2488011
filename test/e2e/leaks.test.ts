/**
 * Planted secrets go in by every way there is, right and wrong, and must be found nowhere but in
 * the answer that is to show them: not in the log, errors, metrics, events, state or (for keys) git.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';

/** Long and odd enough to be found, and to be found by nothing else. */
const KEY = 'planted-key-Xq7Zr2Lw9Kd4Vb1Nc8Hs5Tg3';
const DATA = 'planted-data-Jm6Py0Rf2Uw8Ek4Qa7Zi1Vo';
const PASSWORD = 'planted-password-Gt5Bn9Wc3Xe7Lr1';
const ENCODED = Buffer.from(DATA).toString('base64');
const SECRETS = [KEY, DATA, PASSWORD, ENCODED];

/** The key of the sealed secrets, made by the first start. */
function identity(): string {
  const text = readFileSync(join(daemon.dataDir, 'age.key'), 'utf8');
  const found = /AGE-SECRET-KEY-\w+/.exec(text)?.[0];
  if (found === undefined) throw new Error('There is no age key');
  return found;
}

const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const secrets = `${API}/namespaces/default/sharedsecrets`;
const keys = `${API}/ownedaccesskeys`;

let daemon: Daemon;
/** Answers that must not show a secret, with what was asked. */
const answers: { asked: string; answer: Answer }[] = [];

beforeAll(async () => {
  daemon = await startDaemon({ args: ['--log-level', 'trace'] });
});
afterAll(async () => {
  await daemon.stop();
});

async function ask(method: string, path: string, body?: unknown, type?: string): Promise<Answer> {
  const answer = await daemon.call(method, path, {
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    type: type ?? 'application/json',
  });
  answers.push({ asked: `${method} ${path} ${type ?? ''}`, answer });
  return answer;
}

/** Wrong in every way that a body can be wrong, with a secret in the wrong place. */
async function wrongBodies(
  collection: string,
  kind: string,
  field: string,
  value: unknown,
): Promise<void> {
  const spec = { [field]: value };
  const wrong: [unknown, string?][] = [
    [`{"spec": {"${field}": ${JSON.stringify(value)}`],
    [`spec:\n  ${field}: ${JSON.stringify(value)}\n bad`, 'application/yaml'],
    [{ kind, spec: { ...spec, unknownField: PASSWORD } }],
    [{ kind, metadata: { name: 'Not A Name' }, spec }],
    [{ kind, metadata: { name: 'x', labels: { a: PASSWORD.repeat(3) } }, spec }],
    [{ kind, metadata: { name: 'x' }, spec: { ...spec, displayName: 7 } }],
    [{ kind, metadata: { name: 'x' }, spec: { ...spec, displayName: { [PASSWORD]: 1 } } }],
    [{ kind: 'Other', metadata: { name: 'x' }, spec }],
    [[spec]],
    [JSON.stringify(spec), 'text/plain'],
  ];
  for (const [body, type] of wrong) {
    const { code } = await ask('POST', collection, body, type);
    expect([400, 415, 422]).toContain(code);
  }
}

describe('secrets that are sent', () => {
  test('reach the daemon in good and bad writes of secrets', async () => {
    const made = await daemon.call('POST', secrets, {
      body: { metadata: { name: 'planted' }, spec: { data: { a: ENCODED } } },
    });
    expect(made.code, made.text).toBe(201);
    const labels = {
      'gitplane.dev/sharedsecret-name': 'planted',
      'gitplane.dev/sharedsecret-namespace': 'default',
    };
    const copies = `${API}/namespaces/p-web/projectsecrets`;
    const copy = await daemon.call('POST', copies, {
      body: { metadata: { name: 'copy', labels } },
    });
    expect(copy.json().spec.data).toEqual({ a: ENCODED });
    await wrongBodies(secrets, 'SharedSecret', 'data', { a: ENCODED, 'not a key!': ENCODED });
    await wrongBodies(secrets, 'SharedSecret', 'data', { a: `${DATA} is no base64!` });
    const path = `${secrets}/planted`;
    const stale = { metadata: { resourceVersion: '1' }, spec: { data: { a: ENCODED } } };
    expect((await ask('PATCH', path, stale, merge)).code).toBe(409);
    const tested = [{ op: 'test', path: '/spec/data/a', value: PASSWORD }];
    expect((await ask('PATCH', path, tested, jsonPatch)).code).toBe(422);
    const missing = [{ op: 'add', path: `/spec/${PASSWORD}/x`, value: ENCODED }];
    await ask('PATCH', path, missing, 'application/json');
    // A client with a secret in its URL is told the mistake; the log is not.
    await daemon.call('GET', `${secrets}?labelSelector=a%20b%20${KEY}`);
    await daemon.call('GET', `${secrets}/planted?resourceVersion=${KEY}`);
  });

  test('reach the daemon as keys', async () => {
    const own = { metadata: { name: 'planted' }, spec: { user: 'admin', key: KEY } };
    const made = await daemon.call('POST', keys, { body: own });
    expect(made.code, made.text).toBe(201);
    expect((await daemon.call('GET', `${API}/teams`, { token: KEY })).code).toBe(200);
    for (const path of [
      keys,
      `${keys}/planted`,
      `${keys}?watch=1&timeoutSeconds=1&resourceVersion=0`,
    ]) {
      expect((await ask('GET', path)).code).toBe(200);
    }
    await wrongBodies(keys, 'OwnedAccessKey', 'key', KEY);
    const again = { metadata: { name: 'planted-too' }, spec: { user: 'nobody-here', key: KEY } };
    await ask('POST', keys, again);
    const probe = [{ op: 'test', path: '/spec/key', value: KEY }];
    expect((await ask('PATCH', `${keys}/planted`, probe, jsonPatch)).code).toBe(422);
    for (const token of [`${KEY}x`, `${KEY}.${KEY}`, `gpu_${KEY}`]) {
      const answer = await daemon.call('GET', `${API}/teams`, { token });
      answers.push({ asked: 'a wrong key', answer });
    }
    await ask('POST', '/token/revoke', { token: KEY });
  });

  test('reach the daemon in refused pushes', async () => {
    const clone = await daemon.clone();
    const manifests: Record<string, string> = {
      'ownedaccesskeys/pushed.yaml': `apiVersion: management.gitplane.dev/v1\nkind: OwnedAccessKey\nmetadata:\n  name: pushed\nspec:\n  user: admin\n  key: ${KEY}-pushed\n`,
      'bad.yaml': `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: bad\nspec:\n  data:\n    a: ${DATA} is no base64\n    "not a key!": ${ENCODED}\n`,
      'broken.yaml': `kind: SharedSecret\nspec: {data: {a: ${ENCODED}\n`,
    };
    for (const [path, text] of Object.entries(manifests)) writeFileSync(join(clone, path), text);
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', 'Planted'], clone);
    const { code, stderr } = await daemon.git(['push'], clone);
    expect(code).not.toBe(0);
    for (const secret of SECRETS) expect(stderr).not.toContain(secret);
  });
});

describe('are found', () => {
  test('appear in no answer that does not have to show them', () => {
    expect(answers.length).toBeGreaterThan(40);
    for (const { asked, answer } of answers) {
      const text = `${answer.text}\n${JSON.stringify(answer.headers)}`;
      for (const secret of [KEY, DATA, ENCODED]) {
        expect(text.includes(secret), `${asked} shows ${secret}: ${answer.text}`).toBe(false);
      }
    }
  });

  test('appear in no log, metric or event', async () => {
    const events = await daemon.call('GET', '/kubernetes/management/api/v1/events');
    const metrics = await daemon.call('GET', '/metrics');
    const log = daemon.output();
    expect(log.length).toBeGreaterThan(1000);
    for (const secret of [...SECRETS, identity()]) {
      for (const place of [log, metrics.text, events.text]) expect(place).not.toContain(secret);
    }
  });

  test('appear in no file of the state, and not in git', async () => {
    await daemon.stop();
    const state = files(join(daemon.dataDir, 'state'));
    expect(state.length).toBeGreaterThan(0);
    for (const file of state) {
      const bytes = readFileSync(file);
      for (const secret of [...SECRETS, identity()]) {
        expect(bytes.includes(secret), file).toBe(false);
      }
    }
    const { stdout } = await daemon.git(['log', '-p', '--all'], join(daemon.dataDir, 'repo.git'));
    expect(stdout).toContain('name: planted');
    for (const secret of [...SECRETS, identity()]) expect(stdout).not.toContain(secret);
  });
});

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
