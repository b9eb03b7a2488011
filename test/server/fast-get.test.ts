/** GET of one object past the framework: the same bytes as by way of the routes, and the same rights. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Auditor } from '../../src/audit/auditor.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { concealAccessKey, mintAccessKey } from '../../src/kinds/credentials/access-key.ts';
import { CLIENT_KINDS, CORE_KINDS } from '../../src/kinds/kubernetes/tables.ts';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { FlowClassifier } from '../../src/server/filters/flow-classifier.ts';
import { buildServer } from '../../src/server/server.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import type { RequestLabels } from '../../src/telemetry/request-durations.ts';
import { temporaryFolder } from '../support/git.ts';
import {
  fileOf,
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../support/guarded-platform.ts';
import { kinds } from '../support/platform.ts';

const ROOT = '/kubernetes/management';
const API = `${ROOT}/apis/management.gitplane.dev/v1`;
const RBAC = 'rbac.authorization.k8s.io';

/** What is asked for again and again. */
const PATHS = [
  `${API}/teams/red`,
  `${API}/teams/blue`,
  `${API}/configs/platform`,
  `${API}/teams/absent`,
  `${API}/teams/red/`,
  `${API}/teams/red/status`,
  `${API}/teams`,
  `${API}/users/bob`,
  `${API}/ownedaccesskeys/bob`,
  `${API}/unknowns/red`,
  `${API}/teams/r%65d`,
  `${API}//teams/red`,
  `${ROOT}/api/v1/namespaces/default`,
  `${ROOT}/apis/${RBAC}/v1/clusterroles/reader`,
  `${ROOT}/version`,
];

const HEADERS = [
  'accept: application/json',
  'accept: */*',
  'accept: application/yaml',
  'accept: application/json;as=Table;v=v1;g=meta.k8s.io, application/json',
  'accept: text/plain',
  'accept: application/json;pretty=1',
  'user-agent: curl/8.0',
  'user-agent: kubectl/v1.32.5 (linux/amd64)',
  'connection: close',
  'connection: keep-alive',
  'content-length: 0',
  'cookie: a=b',
  'impersonate-user: root',
  'x-forwarded-for: 10.1.2.3',
  'x-request-id: mine',
];
const TOKENS = ['admin', 'bob', 'nobody', ''] as const;

const bobsKey = mintAccessKey('gpu');
const keyObject = (name: string, token: string): object =>
  object('OwnedAccessKey', name, { spec: { user: name, key: concealAccessKey(token) } });

let guarded: GuardedPlatform;
let port: number;
/** Requests that the routes saw. */
let general: number;
let observed: RequestLabels[];
let keys: Record<string, string>;
let auditor: Auditor;
let folder: string;
let config: ConfigFeed;

const RED = object('Team', 'red', { spec: { description: 'Ü ☃' } });
const OBJECTS = [
  RED,
  object('Team', 'blue'),
  object('User', 'admin'),
  ...grant('everything', '* *', 'User:admin'),
  object('User', 'bob'),
  keyObject('bob', bobsKey),
  ...grant('reader', 'get teams red', 'User:bob'),
];

beforeEach(async () => {
  guarded = await openGuardedPlatform(Date, {});
  const { platform, access } = guarded;
  await guarded.give(...OBJECTS);
  const admin = await guarded.giveKey('admin', { user: 'admin' });
  keys = { admin, bob: bobsKey, nobody: 'gpu_nobody', '': '' };
  folder = temporaryFolder();
  config = new ConfigFeed({ environment: {}, onError: fail });
  const observer = { trouble: (_sink: string, error: unknown) => fail(error), refused: fail };
  const directory = folder;
  auditor = new Auditor({ config, directory, clock: Date, observer, output: process.stdout });
  onTestFinished(() => auditor.close());
  observed = [];
  general = 0;
  const deps = {
    ...{ kinds, config, clock: Date, audit: auditor, version: '0', root: ROOT },
    ...{ store: platform.store, registry: platform.registry },
    authenticate: access.authenticate,
    authorizer: access.authorizer,
    rights: access.rules,
    // The routes ask it of every URL.
    clusters: { prefix: '/kubernetes', find: () => void general++ },
    clientState: { kinds: CLIENT_KINDS },
    core: { kinds: CORE_KINDS, store: platform.store, registry: platform.registry },
    // How often somebody may fail is a matter of time, and no matter of bytes.
    failedLogins: { failed: () => 0 },
    fairness: new FlowClassifier(),
    signIn: { baseUrl: 'https://platform.example' },
    logger: createLogger('fatal'),
    metrics: { requests: { observe: (labels: RequestLabels) => observed.push(labels) } },
  } as unknown as ServerDependencies;
  const app = buildServer(deps, {});
  onTestFinished(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
});

function fail(error: unknown): never {
  throw error;
}

interface Asked {
  readonly path: string;
  readonly headers?: readonly string[];
  readonly token?: string;
  readonly version?: string;
  readonly method?: string;
}

function text({
  path,
  headers = [],
  token = 'admin',
  version = '1.1',
  method = 'GET',
}: Asked): string {
  const key = keys[token] ?? '';
  const lines = [`${method} ${path} HTTP/${version}`, 'Host: here', ...headers];
  if (key !== '') lines.push(`Authorization: Bearer ${key}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Whole answers to requests that are written at once, on one connection. */
async function exchange(requests: readonly string[]): Promise<string[]> {
  const socket = connect({ host: '127.0.0.1', port });
  const answers: string[] = [];
  let rest = '';
  socket.write(requests.join(''));
  for await (const chunk of socket) {
    rest += (chunk as Buffer).toString('latin1');
    for (;;) {
      const end = endOf(rest, requests[answers.length]?.startsWith('HEAD') === true);
      if (end === 0) break;
      answers.push(rest.slice(0, end));
      rest = rest.slice(end);
    }
    if (answers.length === requests.length) break;
  }
  socket.destroy();
  return answers;
}

/** Where the first answer ends; 0: later. */
function endOf(bytes: string, isHead: boolean): number {
  const head = bytes.indexOf('\r\n\r\n') + 4;
  if (head < 4) return 0;
  if (isHead) return head;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(bytes.slice(0, head))?.[1] ?? 0);
  return bytes.length < head + length ? 0 : head + length;
}

/** Without what differs between any two answers. */
function comparable(answer: string | undefined): string {
  return (answer ?? 'none')
    .replace(/\r\naudit-id: [0-9a-f-]{36}\r\n/, '\r\naudit-id: ID\r\n')
    .replace(/\r\nDate: [^\r]*\r\n/, '\r\nDate: NOW\r\n');
}

/** A query without parameters means nothing, and leads to the routes. */
async function bothWays(asked: Asked): Promise<[string, string]> {
  const [fast] = await exchange([text(asked)]);
  const [slow] = await exchange([text({ ...asked, path: `${asked.path}?` })]);
  return [comparable(fast), comparable(slow)];
}

describe('GET of one object', () => {
  test('is answered with the same bytes as by way of the routes, for any headers', async () => {
    const asked = fc.record({
      path: fc.constantFrom(...PATHS),
      headers: fc.subarray(HEADERS, { maxLength: 4 }),
      token: fc.constantFrom(...TOKENS),
      version: fc.constantFrom('1.1', '1.0'),
      method: fc.constantFrom('GET', 'GET', 'HEAD'),
    });
    await fc.assert(
      fc.asyncProperty(asked, async (one) => {
        const [fast, slow] = await bothWays(one);
        expect(fast).toBe(slow);
      }),
      { numRuns: 150 },
    );
    expect(general).toBeGreaterThan(150);
  });

  test('is past the framework where it is plain that it may be', async () => {
    const cases: readonly [string, Partial<Asked>, boolean][] = [
      ['nothing but a key', {}, true],
      [
        'an Accept of JSON, as clients of Kubernetes send it',
        { headers: ['accept: application/json, */*'] },
        true,
      ],
      ['HTTP/1.0', { version: '1.0' }, true],
      ['an address that a proxy tells', { headers: ['x-forwarded-for: 10.1.2.3'] }, true],
      ['a key that may', { token: 'bob' }, true],
      ['a key that may not', { token: 'bob', path: `${API}/teams/blue` }, false],
      ['no key', { token: '' }, false],
      ['an Accept of YAML', { headers: ['accept: application/yaml'] }, false],
      ['a person at curl', { headers: ['user-agent: curl/8'] }, false],
      ['a body', { headers: ['content-length: 0'] }, false],
      ['somebody else to be', { headers: ['impersonate-user: x'] }, false],
      ['a name that nobody has', { path: `${API}/teams/absent` }, false],
      ['a whole collection', { path: `${API}/teams` }, false],
      ['the status', { path: `${API}/teams/red/status` }, false],
    ];
    for (const [what, asked, isFast] of cases) {
      general = 0;
      await exchange([text({ path: `${API}/teams/red`, ...asked })]);
      expect(general, what).toBe(isFast ? 0 : 1);
    }
  });

  test('a pipelined GET is answered in order among others', async () => {
    const teams = ['red', 'blue', 'red', 'absent', 'blue'];
    const requests = teams.map((name, at) =>
      text({ path: `${API}/teams/${name}${at === 2 ? '?' : ''}` }),
    );
    const answers = await exchange(requests);
    const names = answers.map((answer) => /"name":"(\w+)"/.exec(answer)?.[1]);
    expect(names).toEqual(teams);
    expect(general).toBe(2);
    const ids = answers.map((answer) => /audit-id: (\S+)/.exec(answer)?.[1]);
    expect(new Set(ids).size).toBe(teams.length);
  });

  test('is observed as the routes observe it', async () => {
    await bothWays({ path: `${API}/teams/red` });
    await bothWays({ path: `${API}/users/bob` });
    expect(observed).toHaveLength(4);
    expect(observed[0]).toEqual(observed[1]);
    expect(observed[2]).toEqual(observed[3]);
  });

  test('is recorded as the routes record it', async () => {
    const rules = [{ level: 'RequestResponse' }];
    const audit = { enabled: true, path: 'a.log', maxSize: 1, compress: false, policy: { rules } };
    config.offer({ audit, auth: {}, projectNamespacePrefix: 'p-' }, false);
    await auditor.opened();
    await bothWays({ path: `${API}/teams/red`, headers: ['user-agent: tests'] });
    expect(general).toBe(1);
    await exchange([text({ path: `${API}/teams/red`, headers: ['x-forwarded-for: 10.1.2.3'] })]);
    expect(general).toBe(2);
    await auditor.close();
    const lines = readFileSync(join(folder, 'a.log'), 'utf8').trim().split('\n');
    const events = lines.map((line) => {
      const { auditID, requestReceivedTimestamp, stageTimestamp, ...rest } = JSON.parse(line);
      expect([auditID, requestReceivedTimestamp, stageTimestamp]).not.toContain(undefined);
      return { ...rest, requestURI: rest.requestURI.replace('?', '') };
    });
    expect(events).toHaveLength(6);
    expect(events.slice(0, 2)).toEqual(events.slice(2, 4));
    expect(events[1].responseObject.spec.description).toBe('Ü ☃');
    expect(events[5].sourceIPs).toEqual(['10.1.2.3']);
  });
});

describe('GET on a connection that stays open', () => {
  const red = { path: `${API}/teams/red`, token: 'bob' };
  const without = (...objects: object[]): Record<string, null> =>
    Object.fromEntries(objects.map((one) => [fileOf(one), null]));
  const [role, binding] = grant('reader', 'get teams red', 'User:bob') as [object, object];
  const disabled = { user: 'bob', key: concealAccessKey(bobsKey), disabled: true };

  /** Codes of two requests before a change, and of one after. */
  async function around(change: () => Promise<unknown>): Promise<(string | undefined)[]> {
    const socket = connect({ host: '127.0.0.1', port });
    const ask = async (): Promise<string | undefined> => {
      socket.write(text(red));
      const chunk = await new Promise<Buffer>((resolve) => void socket.once('data', resolve));
      return /^HTTP\/1.1 (\d+)/.exec(chunk.toString('latin1'))?.[1];
    };
    general = 0;
    const found = [await ask(), await ask()];
    expect(general).toBe(0);
    await change();
    found.push(await ask());
    socket.destroy();
    return found;
  }

  test('a withdrawn right ends with the next request', async () => {
    const cases: readonly [string, Record<string, string | null>, string][] = [
      ['the key is deleted', without(keyObject('bob', bobsKey)), '401'],
      [
        'the key is disabled',
        filesOf([object('OwnedAccessKey', 'bob', { spec: disabled })]),
        '401',
      ],
      ['the user is deleted', without(object('User', 'bob')), '401'],
      [
        'the user is disabled',
        filesOf([object('User', 'bob', { spec: { disabled: true } })]),
        '401',
      ],
      ['the role is deleted', without(role), '403'],
      ['the role is narrowed', filesOf(grant('reader', 'list teams', 'User:bob')), '403'],
      ['the binding is deleted', without(binding), '403'],
      ['the object is deleted', without(RED), '404'],
    ];
    for (const [what, files, code] of cases) {
      const codes = await around(() => guarded.platform.commit(files));
      expect(codes, what).toEqual(['200', '200', code]);
      // A key belongs to the user that it was made for: one that was deleted needs another key.
      await guarded.give(...OBJECTS);
      await guarded.platform.commit(without(keyObject('bob', bobsKey)));
      await guarded.give(...OBJECTS);
    }
  });

  test('a scope that the configuration widens or narrows counts as it is now', async () => {
    const version = guarded.platform.store.resourceVersion;
    let allowed = true;
    const { authorizer } = guarded.access;
    const asked = vi.spyOn(authorizer, 'authorize');
    asked.mockImplementation(() => ({ allowed, reason: '' }));
    const codes = await around(async () => {
      allowed = false;
      config.offer({ auth: {}, projectNamespacePrefix: 'other-' }, false);
    });
    expect(codes).toEqual(['200', '200', '403']);
    expect(guarded.platform.store.resourceVersion).toBe(version);
  });

  test('a role that is taken away after its state was read counts from then on', async () => {
    const version = guarded.platform.store.resourceVersion;
    const { rules } = guarded.access;
    let revision = rules.revision;
    vi.spyOn(rules, 'revision', 'get').mockImplementation(() => revision);
    const asked = vi.spyOn(guarded.access.authorizer, 'authorize');
    const codes = await around(async () => {
      asked.mockImplementation(() => ({ allowed: false, reason: '' }));
      revision++;
    });
    expect(codes).toEqual(['200', '200', '403']);
    expect(guarded.platform.store.resourceVersion).toBe(version);
  });

  test('the next request sees what was written', async () => {
    const codes = await around(() =>
      guarded.give(object('Team', 'red', { spec: { description: 'new' } })),
    );
    expect(codes).toEqual(['200', '200', '200']);
    const [after] = await exchange([text(red)]);
    expect(after).toContain('"description":"new"');
    expect(general).toBe(0);
  });
});
