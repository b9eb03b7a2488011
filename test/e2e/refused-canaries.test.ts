/**
 * Values of refused writes. Each attempt has a random text in its secret fields: those of its kind, and
 * those that only the rule of `.sops.yaml` encrypts. The write is refused in every way and by every road,
 * and afterwards the text is in no log, metric, event, document, file and git object of the daemon.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { API, type CallOptions, type Daemon, RBAC, scratchDir } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { startFaultyDaemon } from '../support/faults/fault-daemon.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { commitFiles, gitIn } from './clones.ts';

type Json = Record<string, unknown>;

const GROUP = 'management.gitplane.dev';
const CONFIG = `${API}/config/platform`;
const RULED = ['displayName', 'description', 'note', 'example.org/note', 'imagePullSecrets'];
const AUDIT =
  'audit:\n  enabled: true\n  path: audit.log\n  dataStoreEndpoint: sqlite://audit.db\n  policy:\n    rules:\n      - level: RequestResponse\n';

const MIB = 2 ** 20;
const TITLE = ETCD_MISSING === undefined ? 'replicas' : `replicas (SKIPPED: ${ETCD_MISSING})`;

const control = join(scratchDir(), 'control');
let daemon: Daemon;
let clone: string;
let stranger: string;
let flooder: string;
const canaries = new Map<string, string>();

beforeAll(async () => {
  daemon = await startFaultyDaemon({ dataDir: join(scratchDir(), 'data'), control, args: [] });
  clone = await prepare(daemon);
  stranger = await keyOf('stranger', []);
  flooder = await keyOf('flooder', [{ apiGroups: [GROUP], resources: ['*'], verbs: ['*'] }]);
});
afterAll(() => daemon.stop());

/** Turns the audit log on, has more encrypted, and makes the objects that are there. Returns a clone. */
async function prepare(on: Daemon): Promise<string> {
  const raw = `${AUDIT}platformHost: a.example.com\n`;
  await accepted('PUT', CONFIG, { ...(await on.call('GET', CONFIG)).json(), spec: { raw } }, on);
  // Replicas may elect another leader meanwhile.
  const made = await vi.waitFor(() => on.clone(), { timeout: 60_000, interval: 200 });
  const rules = readFileSync(join(made, '.sops.yaml'), 'utf8');
  const age = /age1\w+/.exec(rules)?.[0];
  const all = `^(${[...RULED, 'data', 'connectorData', 'idToken', 'passwordHash'].join('|')})$`;
  const rule = { path_regex: '^(teams|namespaces|users|ownedaccesskeys)/', encrypted_regex: all };
  await commitFiles(on, made, {
    '.sops.yaml': stringify({
      creation_rules: [
        { ...rule, age },
        { encrypted_regex: '^raw$', age },
      ],
    }),
  });
  await gitIn(on, made, 'push', '-q', 'origin', 'HEAD:main');
  await accepted('POST', `${API}/teams`, { metadata: { name: 'there' }, spec: {} }, on);
  const spec = { data: { a: 'YQ==' } };
  const secret = { metadata: { name: 'there' }, spec };
  await accepted('POST', `${API}/namespaces/default/sharedsecrets`, secret, on);
  return made;
}

async function accepted(method: string, path: string, body: object, on = daemon): Promise<Json> {
  const answer = await on.call(method, path, { body });
  expect(answer.code, answer.text).toBeLessThan(300);
  return answer.json();
}

/** A user who may push, and has these rights on objects. */
async function keyOf(name: string, ofObjects: readonly object[]): Promise<string> {
  await accepted('POST', `${API}/users`, { metadata: { name }, spec: {} });
  const made = await accepted('POST', `${API}/ownedaccesskeys`, {
    metadata: { name },
    spec: { user: name },
  });
  const ofGit = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
  const rules = [ofGit, ...ofObjects];
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
    query: '?fieldManager=t&force=true',
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

/** Sends teams and secrets by each road, with a text of their own, and expects this code. */
async function expectRefusals(
  why: string,
  code: number,
  send: Daemon['call'] = (...words) => daemon.call(...words),
): Promise<void> {
  const kinds = [KINDS['team'], KINDS['secret']].flatMap((kind) => kind ?? []);
  const all = kinds.flatMap((kind) =>
    Object.entries(ROADS).map(async ([road, { method, type, query = '', exists, body }]) => {
      // Only a Team is replaced without its version.
      if (road === 'PUT' && kind.kind !== 'Team') return;
      const name = exists ? 'there' : 'refused';
      const label = `${kind.kind} by ${road}, for ${why}`;
      const text = canary(label);
      const object = { apiVersion: `${GROUP}/v1`, kind: kind.kind, ...kind.object(name, text) };
      const path = `${kind.path}${exists ? `/${name}` : ''}${query}`;
      const sent = { type, body: JSON.stringify(body?.(object) ?? object) };
      const answer = await send(method, path, sent);
      // A dry run writes nothing.
      if (query.includes('dryRun') && answer.code < 300) return;
      expect([answer.code, answer.text.includes(text)], `${label}: ${answer.text}`).toEqual([
        code,
        false,
      ]);
    }),
  );
  await Promise.all(all);
}

/** An event of an agent, with the text where values may be. */
function eventWith(text: string): Json {
  const requestObject = { metadata: { name: 'x' }, spec: { note: text } };
  const time = { stageTimestamp: '2026-01-01T00:00:00Z' };
  const event = { level: 'Request', stage: 'ResponseComplete', auditID: 'of-an-agent', ...time };
  return { ...event, requestURI: `/x?token=${text}`, userAgent: text, requestObject };
}

const listOf = (...items: Json[]): string => JSON.stringify({ kind: 'EventList', items });

/** Takes all bytes of bodies that one user may have in the queue. Returns the way to give them back. */
async function flood(): Promise<() => void> {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  const head = `POST ${API}/teams HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${flooder}\r\ncontent-type: application/json\r\ncontent-length: ${2 * MIB}\r\n\r\n`;
  const open = await Promise.all(
    Array.from({ length: 80 }, async () => {
      const socket = connect({ host: '127.0.0.1', port: daemon.port, ca });
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect');
      return socket.write(head) && socket;
    }),
  );
  const refused = /fair_queue_refused_total\{level="writes"\} [1-9]/;
  await vi.waitFor(async () => {
    expect((await daemon.call('GET', '/metrics')).text).toMatch(refused);
  });
  return () => {
    for (const socket of open) if (socket !== false) socket.destroy();
  };
}

function breakDisk(code: string, sites: string): () => void {
  writeFileSync(control, JSON.stringify({ code, sites }));
  return () => rmSync(control);
}

const CHANGES =
  '^(open|write|writev|writeFile|fsync|fdatasync|ftruncate|truncate|rename|link|mkdir) ';

describe('each write', () => {
  test('is refused by the fair queue', async () => {
    const end = await flood();
    await expectRefusals('a full queue', 429, (method, path, options) =>
      daemon.call(method, path, { ...options, token: flooder }),
    );
    end();
  });

  test.each(['ENOSPC', 'EDQUOT'])(
    'is refused on a disk that says %s, and a push too',
    async (code) => {
      const text = canary(`a push, for ${code}`);
      const object = KINDS['secret']?.object('new', text);
      const file = { apiVersion: `${GROUP}/v1`, kind: 'SharedSecret', ...object };
      await gitIn(daemon, clone, 'fetch', '-q');
      await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
      const path = 'namespaces/default/sharedsecrets/new.yaml';
      await commitFiles(daemon, clone, { [path]: stringify(file) });
      const end = breakDisk(code, CHANGES);
      await expectRefusals(code, 507);
      const push = await daemon.git(['push', 'origin', 'HEAD:main'], clone);
      end();

      expect(push.code, push.stderr).not.toBe(0);
    },
  );
});

test('events of agents are refused for rights, for their form, and by a full queue of the log', async () => {
  const send = async (
    why: string,
    code: number,
    body: (text: string) => string,
    token?: string,
  ) => {
    const text = canary(`events of an agent, for ${why}`);
    const options = { body: body(text), ...(token === undefined ? {} : { token }) };
    const answer = await daemon.call('POST', '/audit/events', options);
    expect([answer.code, answer.text.includes(text)], `${why}: ${answer.text}`).toEqual([
      code,
      false,
    ]);
  };
  await send('rights', 403, (text) => listOf(eventWith(text)), stranger);
  await send('form', 400, (text) => listOf({ ...eventWith(text), level: text }));
  await send('another kind', 400, (text) => JSON.stringify({ kind: text, items: [] }));
  await send('malformed JSON', 400, (text) => `${listOf(eventWith(text))}${text}`);
  const end = breakDisk('EIO', ' audit\\.log');
  const large = { ...eventWith('filler'), requestObject: { filler: 'x'.repeat(2.9 * MIB) } };
  for (let at = 0; at < 2; at++) {
    const filler = await daemon.call('POST', '/audit/events', { body: listOf(large) });
    expect(filler.code, filler.text).toBe(200);
  }
  await send('a full queue', 429, (text) => listOf(eventWith(text), large));
  end();
});

describe.skipIf(ETCD_MISSING !== undefined)(TITLE, () => {
  let set: ReplicaSet;
  let follower: Replica;

  beforeAll(async () => {
    // A full etcd takes no new leader, should a busy machine miss its lease.
    set = await startReplicas({
      replicas: 2,
      members: 1,
      quota: 16 * MIB,
      args: ['--leader-lease', '10'],
    });
    await prepare((await set.elected()).daemon);
  });
  afterAll(() => set?.stop());

  const through =
    (replica: Replica): Daemon['call'] =>
    (method, path, options) =>
      replica.daemon.call(method, path, { ...options, token: set.token });

  test('refuse each write while the quota of etcd is used up', async () => {
    const input = 'x'.repeat(MIB);
    for (let at = 0; at < 40; at++) await set.etcd.ctl(['put', `junk/${at}`], { input });
    for (const replica of set.replicas) {
      await expectRefusals(`a full etcd, by ${replica.name}`, 507, through(replica));
    }
    await set.etcd.ctl(['del', '--prefix', 'junk/']);
    await set.etcd.compact();
    await set.etcd.defragment();
    expect((await set.etcd.ctl(['alarm', 'disarm'])).code).toBe(0);
  });

  test('refuse each write and each event while etcd and the leader are away', async () => {
    const leader = await set.elected();
    follower = set.replicas.find((one) => one !== leader) as Replica;
    await set.etcd.members[0]?.kill();
    await leader.stop('SIGKILL');
    const text = canary('events of an agent, without a leader');
    const relay = through(follower)('POST', '/audit/events', { body: listOf(eventWith(text)) });
    await expectRefusals('no leader', 503, through(follower));
    const answer = await relay;

    expect([answer.code, answer.text.includes(text)], answer.text).toEqual([503, false]);
  });

  test('have no text in a log, a metric, an answer or a file', async () => {
    const metrics = await through(follower)('GET', '/metrics');
    await follower.stop();
    const places: [string, string][] = [
      ['/metrics', metrics.text],
      ['the output', set.output()],
      ...files(dirname(follower.dataDir)),
      ...set.replicas.map(({ dataDir, name }): [string, string] => [name, gitObjects(dataDir)]),
    ];

    const logs = places.flatMap(([place, text]) => (place.endsWith('/audit.log') ? text : []));
    for (const code of [503, 507]) expect(logs.join('')).toContain(`"code":${code}`);
    expect(leaks(places)).toEqual([]);
  });
});

test('no text is in a log, a metric, an event, a document, a file or a git object', async () => {
  const seen = await reports();
  await daemon.stop();
  const places = new Map([...seen, ['the output of the daemon', daemon.output()]]);
  for (const [place, content] of files(daemon.dataDir)) places.set(place, content);
  places.set('the objects of git', gitObjects(daemon.dataDir));

  expect(canaries.size).toBeGreaterThan(400);
  for (const code of [403, 429, 507]) expect(places.get('audit.log')).toContain(`"code":${code}`);
  expect(leaks(places)).toEqual([]);
});

function leaks(places: Iterable<readonly [string, string]>): string[] {
  const found = [...places].flatMap(([place, content]) =>
    [...canaries].flatMap(([text, label]) =>
      content.includes(text) ? [`${place}: ${label}`] : [],
    ),
  );
  return [...new Set(found)];
}

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

/** Every file of a folder, also packed ones. */
function files(folder: string, under = ''): [string, string][] {
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

function gitObjects(dataDir: string): string {
  const gitDir = join(dataDir, 'repo.git');
  const words = ['cat-file', '--batch-all-objects', '--batch', '--unordered'];
  return execFileSync('git', words, { cwd: gitDir, maxBuffer: 1 << 30 }).toString('latin1');
}
