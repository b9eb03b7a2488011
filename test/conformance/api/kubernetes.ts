/** A real API server of Kubernetes that knows the kinds of the platform as custom resources. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { crds } from '../../../src/cli/crds.ts';
import { CRDS_OPTIONS } from '../../../src/options/manifest-options.ts';
import { parseOptions } from '../../../src/options/parse-options.ts';
import { scratchDir } from '../../support/daemon.ts';
import { startApiServer } from '../../support/kube-apiserver/api-server.ts';
import { type Client, clientOf, type Target } from './target.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const TOKEN = 'token-of-the-administrator';
const SETUP_TOKEN = 'token-of-the-setup';
/** Lower limit of the time for which the server keeps old versions: longer than any case takes. */
const KEPT_SECONDS = 20;

interface Definition {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
}

/** Holder of the token in the target. The server makes it a cluster-admin. */
export interface Administrator {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

const SETUP_USER = `${SETUP_TOKEN},setup,setup,"system:masters"`;
const ADA: Administrator = { username: 'ada', uid: 'ada', groups: ['system:masters'] };

export interface Kubernetes {
  readonly target: Target;
  /** Definitions of the platform that the server does not serve, or whose schema is not structural. */
  unestablished(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Resolves once every kind is served. `flags`, `of`: for the server. */
export async function startKubernetes(
  { username, uid, groups }: Administrator = ADA,
  flags: readonly string[] = [],
  of: Parameters<typeof startApiServer>[1] = {},
): Promise<Kubernetes> {
  const users = join(scratchDir(), 'tokens.csv');
  const lines = [`${TOKEN},${username},${uid},"${groups.join(',')}"`, SETUP_USER];
  writeFileSync(users, `${lines.join('\n')}\n`);
  const server = await startApiServer(
    [`--token-auth-file=${users}`, `--etcd-compaction-interval=${KEPT_SECONDS}s`, ...flags],
    of,
  );
  const target = { url: server.url, token: TOKEN, ca: server.ca };
  const client = clientOf({ ...target, token: SETUP_TOKEN });
  try {
    await define(client);
    const { code, text } = await client.call({
      method: 'POST',
      path: BINDINGS,
      body: binding(username),
    });
    expect(code, text).toBe(201);
  } catch (cause) {
    await server.stop();
    throw new Error('The API server does not serve the kinds of the platform', { cause });
  } finally {
    client.close();
  }
  const unestablished = async (): Promise<string[]> => {
    const asking = clientOf(target);
    return await namesUnestablished(asking).finally(() => asking.close());
  };
  return { target, unestablished, stop: () => server.stop() };
}

/** The binding that the daemon has for its administrator. */
function binding(name: string): object {
  const apiGroup = 'rbac.authorization.k8s.io';
  return {
    metadata: { name: `cluster-admin-${name}` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name }],
  };
}

async function define(client: Client): Promise<void> {
  for (const body of await definitions()) {
    const { code, text } = await client.call({ method: 'POST', path: CRDS, body });
    expect(code, text).toBe(201);
  }
  const soon = { timeout: 60_000, interval: 200 };
  await vi.waitFor(async () => expect(await namesUnestablished(client)).toEqual([]), soon);
  await vi.waitFor(async () => expect(await undiscovered(client)).toEqual([]), soon);
  await vi.waitFor(async () => expect(await unready(client)).toEqual([]), soon);
  await vi.waitFor(async () => expect(await codeOfOld(client)).toBe(410), {
    timeout: 120_000,
    interval: 500,
  });
}

export async function definitions(): Promise<Definition[]> {
  let text = '';
  const options = parseOptions(CRDS_OPTIONS, ['--format', 'json'], {});
  await crds(options, { write: (chunk) => (text += chunk) });
  return JSON.parse(text).items;
}

async function namesUnestablished(client: Client): Promise<string[]> {
  const { text } = await client.call({ method: 'GET', path: CRDS });
  const { items } = JSON.parse(text) as { items: Definition[] };
  const is = ({ status }: Definition, type: string): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
  return items
    .filter((one) => !is(one, 'Established') || is(one, 'NonStructuralSchema'))
    .map(({ metadata }) => metadata.name);
}

/** Discovery and OpenAPI follow some time later. */
async function undiscovered(client: Client): Promise<string[]> {
  const group = 'apis/management.gitplane.dev/v1';
  const { text } = await client.call({ method: 'GET', path: `/${group}` });
  const { text: openapi } = await client.call({ method: 'GET', path: '/openapi/v3' });
  const found = text.includes('"teams/status"') && text.includes('"tenants/status"');
  return found && openapi.includes(`"${group}"`) ? [] : [text];
}

/** A kind has a cache, which is filled when it is first asked for. */
async function unready(client: Client): Promise<string[]> {
  const answers = (await definitions()).map(async ({ metadata: { name } }) => {
    const path = `/apis/management.gitplane.dev/v1/${name.split('.')[0]}`;
    const { code } = await client.call({ method: 'GET', path: `${path}?resourceVersion=0` });
    return code === 200 ? [] : [`${name}: ${code}`];
  });
  return (await Promise.all(answers)).flat();
}

/** Code of a page in the state of the first version, which cases expect to be compacted. */
async function codeOfOld(client: Client): Promise<number> {
  const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"a\\u0000"}').toString(
    'base64url',
  );
  const path = `/apis/management.gitplane.dev/v1/users?limit=1&continue=${token}`;
  return (await client.call({ method: 'GET', path })).code;
}
