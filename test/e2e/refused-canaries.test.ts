/**
 * Values of refused writes. Each attempt has a random text in its secret fields: those of its kind, and
 * those that only the rule of `.sops.yaml` encrypts. The write is refused in every way and by every road,
 * and afterwards the text is in no log, metric, event, document, file and git object of the daemon.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { API, type CallOptions, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn } from './clones.ts';

type Json = Record<string, unknown>;

const GROUP = 'management.gitplane.dev';
const CONFIG = `${API}/config/platform`;
const RULED = ['displayName', 'description', 'note', 'example.org/note', 'imagePullSecrets'];
const AUDIT =
  'audit:\n  enabled: true\n  path: audit.log\n  dataStoreEndpoint: sqlite://audit.db\n  policy:\n    rules:\n      - level: RequestResponse\n';

let daemon: Daemon;
let clone: string;
let stranger: string;
const canaries = new Map<string, string>();

beforeAll(async () => {
  daemon = await startDaemon();
  const raw = `${AUDIT}platformHost: a.example.com\n`;
  await accepted('PUT', CONFIG, { ...(await daemon.call('GET', CONFIG)).json(), spec: { raw } });
  clone = await daemon.clone();
  const rules = readFileSync(join(clone, '.sops.yaml'), 'utf8');
  const age = /age1\w+/.exec(rules)?.[0];
  const all = `^(${[...RULED, 'data', 'connectorData', 'idToken', 'passwordHash'].join('|')})$`;
  const rule = { path_regex: '^(teams|namespaces|users|ownedaccesskeys)/', encrypted_regex: all };
  await commitFiles(daemon, clone, {
    '.sops.yaml': stringify({
      creation_rules: [
        { ...rule, age },
        { encrypted_regex: '^raw$', age },
      ],
    }),
  });
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:main');
  await accepted('POST', `${API}/teams`, { metadata: { name: 'there' }, spec: {} });
  await accepted('POST', `${API}/namespaces/default/sharedsecrets`, {
    metadata: { name: 'there' },
    spec: { data: { a: 'YQ==' } },
  });
  stranger = await keyOf('stranger');
});
afterAll(() => daemon.stop());

async function accepted(method: string, path: string, body: object): Promise<Json> {
  const answer = await daemon.call(method, path, { body });
  expect(answer.code, answer.text).toBeLessThan(300);
  return answer.json();
}

/** A user who may push, and has no right on any object. */
async function keyOf(name: string): Promise<string> {
  await accepted('POST', `${API}/users`, { metadata: { name }, spec: {} });
  const made = await accepted('POST', `${API}/ownedaccesskeys`, {
    metadata: { name },
    spec: { user: name },
  });
  const rules = [{ nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] }];
  const apiGroup = 'rbac.authorization.k8s.io';
  await accepted('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules });
  await accepted('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name }],
  });
  return (made['spec'] as { key: string }).key;
}

/** A text that is nowhere else. `label`: what the attempt was. */
function canary(label: string): string {
  const text = `canary-${randomBytes(12).toString('hex')}`;
  canaries.set(text, label);
  canaries.set(Buffer.from(text).toString('base64').replace(/=+$/, ''), `${label}, in base64`);
  return text;
}

interface Kind {
  readonly kind: string;
  readonly path: string;
  readonly file: (name: string) => string;
  /** An object with the text in every field that the kind or the rule makes secret. */
  readonly object: (name: string, text: string) => Json;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const marked = (name: string, text: string): Json => ({
  name,
  labels: { note: text },
  annotations: { 'example.org/note': text },
});

const KINDS: Readonly<Record<string, Kind>> = {
  team: {
    kind: 'Team',
    path: `${API}/teams`,
    file: (name) => `teams/${name}.yaml`,
    object: (name, text) => ({
      metadata: marked(name, text),
      spec: { displayName: text, description: `The ${text}`, owner: { user: 'ann' } },
    }),
  },
  secret: {
    kind: 'SharedSecret',
    path: `${API}/namespaces/default/sharedsecrets`,
    file: (name) => `namespaces/default/sharedsecrets/${name}.yaml`,
    object: (name, text) => ({
      metadata: marked(name, text),
      spec: { displayName: text, data: { token: base64(text) } },
    }),
  },
  key: {
    kind: 'OwnedAccessKey',
    path: `${API}/ownedaccesskeys`,
    file: (name) => `ownedaccesskeys/${name}.yaml`,
    object: (name, text) => ({
      metadata: marked(name, text),
      spec: { user: 'stranger', displayName: text, key: `${text}-${text}` },
    }),
  },
};

interface Refusal {
  /** Changes the object so that the write is refused. `text`: the canary. */
  readonly spoil?: (object: Json, text: string) => void;
  /** Changes the encoded body. */
  readonly encode?: (json: string, text: string) => string;
  readonly options?: () => CallOptions;
  /** Only for an object that is there. */
  readonly exists?: true;
}

const set = (of: Json, field: string, value: unknown): void => {
  of[field] = value;
};
const spec = (object: Json): Json => object['spec'] as Json;
const metadata = (object: Json): Json => object['metadata'] as Json;

const REFUSALS: Readonly<Record<string, Refusal>> = {
  rights: { options: () => ({ token: stranger }) },
  'another name': {
    exists: true,
    spoil: (object) => set(metadata(object), 'name', 'other'),
  },
  'a stale version': {
    exists: true,
    spoil: (object) => set(metadata(object), 'resourceVersion', '1'),
  },
  'a value of a wrong type': {
    spoil: (object, text) => set(spec(object), 'displayName', { deep: [text] }),
  },
  'a misplaced value': {
    spoil: (object, text) => set(spec(object), 'dispalyName', text),
  },
  'a misplaced value at the root': {
    spoil: (object, text) => set(object, 'displayName', text),
  },
  'an invalid label': {
    spoil: (object, text) => set(metadata(object), 'labels', { note: `${text} with spaces` }),
  },
  'a server field': {
    exists: true,
    spoil: (object) => set(metadata(object), 'uid', 'another-life'),
  },
  'a value that is too long': {
    spoil: (object, text) => set(spec(object), 'displayName', text + 'x'.repeat(70_000)),
  },
  'a body that is too large': {
    spoil: (object, text) => set(spec(object), 'displayName', text + 'x'.repeat(4_000_000)),
  },
  'malformed JSON': { encode: (json) => json.slice(0, -3) },
  'a field twice': {
    encode: (json, text) =>
      json.replace('"spec":{', `"spec":{"displayName":"${text}","x":"${text}",`),
  },
  'text before the body': { encode: (json, text) => `${text}${json}` },
  'another media type': { options: () => ({ type: 'text/plain' }) },
};

interface Road {
  readonly method: string;
  readonly type: string;
  readonly query?: string;
  /** True: the object is at the path. */
  readonly exists: boolean;
  readonly body?: (object: Json) => unknown;
}

const ROADS: Readonly<Record<string, Road>> = {
  POST: { method: 'POST', type: 'application/json', exists: false },
  'POST for a dry run': {
    method: 'POST',
    type: 'application/json',
    exists: false,
    query: '?dryRun=All',
  },
  PUT: { method: 'PUT', type: 'application/json', exists: true },
  'a merge patch': { method: 'PATCH', type: 'application/merge-patch+json', exists: true },
  'a merge patch for a dry run': {
    method: 'PATCH',
    type: 'application/merge-patch+json',
    exists: true,
    query: '?dryRun=All&show=file,effect',
  },
  'a JSON patch': {
    method: 'PATCH',
    type: 'application/json-patch+json',
    exists: true,
    body: (object) =>
      Object.entries(object).flatMap(([section, fields]) =>
        typeof fields === 'object' && section !== 'metadata'
          ? Object.entries(fields as Json).map(([field, value]) => ({
              op: 'add',
              path: `/${section}/${field}`,
              value,
            }))
          : section === 'metadata'
            ? ['labels', 'annotations', 'resourceVersion', 'uid', 'name'].flatMap((field) => {
                const value = (fields as Json)[field];
                return value === undefined
                  ? []
                  : [{ op: 'add', path: `/metadata/${field}`, value }];
              })
            : [{ op: 'add', path: `/${section}`, value: fields }],
      ),
  },
  apply: {
    method: 'PATCH',
    type: 'application/apply-patch+yaml',
    exists: true,
    query: '?fieldManager=t',
  },
};

const ATTEMPTS = Object.entries(KINDS).flatMap(([kindName, kind]) =>
  Object.entries(ROADS).flatMap(([road, way]) =>
    Object.entries(REFUSALS).flatMap(([why, refusal]) =>
      refusal.exists === true && !way.exists ? [] : [{ kindName, kind, road, way, why, refusal }],
    ),
  ),
);

describe('the write of a', () => {
  test.each(ATTEMPTS)(
    '$kindName by $road is refused for $why',
    async ({ kind, way, why, refusal, road }) => {
      const name = way.exists ? 'there' : 'new';
      const text = canary(`${kind.kind} by ${road}, for ${why}`);
      const object: Json = {
        apiVersion: `${GROUP}/v1`,
        kind: kind.kind,
        ...kind.object(name, text),
      };
      refusal.spoil?.(object, text);
      const json = JSON.stringify(way.body === undefined ? object : way.body(object));
      const body = refusal.encode?.(json, text) ?? json;
      const path = way.exists ? `${kind.path}/${name}` : kind.path;
      const options = { type: way.type, body, ...refusal.options?.() };
      const answer = await daemon.call(way.method, `${path}${way.query ?? ''}`, options);

      // Some ways do not concern some roads; what is accepted is encrypted, and masked all the same.
      expect([200, 201, 400, 403, 404, 409, 413, 415, 422], answer.text).toContain(answer.code);
    },
  );

  test.each(Object.entries(KINDS))('%s by a push is refused', async (_, kind) => {
    for (const [why, refusal] of Object.entries(REFUSALS)) {
      if (refusal.options !== undefined || why === 'rights') continue;
      const text = canary(`${kind.kind} by a push, for ${why}`);
      const object: Json = {
        apiVersion: `${GROUP}/v1`,
        kind: kind.kind,
        ...kind.object('new', text),
      };
      refusal.spoil?.(object, text);
      const content = refusal.encode?.(JSON.stringify(object), text) ?? stringify(object);
      await gitIn(daemon, clone, 'fetch', '-q');
      await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
      await commitFiles(daemon, clone, { [kind.file('new')]: `${content}extra: [${text}\n` });
      const { code, stderr } = await daemon.git(['push', 'origin', 'HEAD:main'], clone);
      expect(code, stderr).not.toBe(0);
    }
  });

  test.each(['team', 'secret'])('%s by its text is refused', async (name) => {
    const kind = KINDS[name];
    if (kind === undefined) return;
    const text = canary(`${kind.kind} by its text`);
    const object = { apiVersion: `${GROUP}/v1`, kind: kind.kind, ...kind.object('there', text) };
    for (const body of [stringify(object), `${stringify(object)}x: [${text}`]) {
      const answer = await daemon.call('PUT', `${kind.path}/there/source`, {
        type: 'application/yaml',
        body,
      });
      expect([400, 404, 409, 415, 422], answer.text).toContain(answer.code);
    }
  });

  test('team is created and deleted at once', async () => {
    const text = canary('a create and a delete');
    const object = KINDS['team']?.object('gone', text) ?? {};
    await accepted('POST', `${API}/teams`, object);
    const { code } = await daemon.call('DELETE', `${API}/teams/gone`);
    expect(code).toBe(200);
  });
});

test('writes with unknown keys are refused, at last without a look at them', async () => {
  const codes = new Set<number>();
  for (const kind of Object.values(KINDS)) {
    for (let at = 0; at < 12; at++) {
      const text = canary(`${kind.kind} with an unknown key`);
      const token = canary(`the unknown key of a ${kind.kind}`);
      const object = { apiVersion: `${GROUP}/v1`, kind: kind.kind, ...kind.object('new', text) };
      codes.add((await daemon.call('POST', kind.path, { token, body: object })).code);
    }
  }
  expect(codes).toEqual(new Set([401, 429]));
});

test('no text is in a log, a metric, an event, a document, a file or a git object', async () => {
  const seen = await reports();
  await daemon.stop();
  const places = new Map([...seen, ['the output of the daemon', daemon.output()], ...files()]);
  places.set('the objects of git', gitObjects());
  const found = [...places].flatMap(([place, content]) =>
    [...canaries].flatMap(([text, label]) =>
      content.includes(text) ? [`${place}: ${label}`] : [],
    ),
  );

  expect(canaries.size).toBeGreaterThan(400);
  expect(places.get('audit.log')).toContain('"code":403');
  expect([...new Set(found)]).toEqual([]);
});

/** Documents that others than the sender may read. */
async function reports(): Promise<[string, string][]> {
  const paths = [
    '/metrics',
    '/sync',
    '/summary',
    '/audit/events?limit=1000',
    '/kubernetes/management/api/v1/events',
    '/kubernetes/management/apis/events.k8s.io/v1/events',
  ];
  const texts: [string, string][] = [];
  for (const path of paths) {
    const { code, text } = await daemon.call('GET', path);
    expect(code, `${path}: ${text}`).toBe(200);
    texts.push([path, text]);
  }
  return texts;
}

/** Every file of the data directory, also packed ones. */
function files(folder = daemon.dataDir, under = ''): [string, string][] {
  return readdirSync(folder).flatMap((name): [string, string][] => {
    const path = join(folder, name);
    const shown = under === '' ? name : `${under}/${name}`;
    const status = statSync(path, { throwIfNoEntry: false });
    if (status?.isDirectory() === true) return files(path, shown);
    if (status?.isFile() !== true) return [];
    const content = readFileSync(path);
    return [[shown, (name.endsWith('.gz') ? gunzipSync(content) : content).toString('latin1')]];
  });
}

function gitObjects(): string {
  const gitDir = join(daemon.dataDir, 'repo.git');
  const words = ['cat-file', '--batch-all-objects', '--batch', '--unordered'];
  return execFileSync('git', words, { cwd: gitDir, maxBuffer: 1 << 30 }).toString('latin1');
}
