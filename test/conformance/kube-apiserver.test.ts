/**
 * The real API server of Kubernetes gives the verdicts that our tests compare ours with. It is built
 * by `npm run kubernetes`; where nobody did, this file says so and tests nothing.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { crds } from '../../src/cli/crds.ts';
import { CRDS_OPTIONS } from '../../src/options/manifest-options.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import { scratchDir } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { type Judged, judge } from './api/case.ts';
import { CASES } from './api/cases/all.ts';
import { type Client, clientOf, type Target } from './api/target.ts';
import { isRecording, readVerdicts, writeVerdicts } from './api/verdicts.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): it gave no verdicts', () => {});
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const TOKEN = 'conformance';
/** How long versions last at least: longer than any case takes. */
const KEPT_SECONDS = 20;

interface Definition {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
}

describe.skipIf(!hasApiServer)('kube-apiserver', () => {
  let server: ApiServer;
  let client: Client;
  let target: Target;
  let judged: Readonly<Record<string, Judged>>;

  beforeAll(async () => {
    const users = join(scratchDir(), 'tokens.csv');
    writeFileSync(users, `${TOKEN},ada,ada,"system:masters"\n`);
    server = await startApiServer([
      `--token-auth-file=${users}`,
      `--etcd-compaction-interval=${KEPT_SECONDS}s`,
    ]);
    target = { url: server.url, token: TOKEN, ca: server.ca };
    client = clientOf(target);
    for (const body of await definitions()) {
      const { code, text } = await client.call({ method: 'POST', path: CRDS, body });
      expect(code, text).toBe(201);
    }
    await vi.waitFor(async () => expect(await unestablished()).toEqual([]), {
      timeout: 60_000,
      interval: 200,
    });
    await vi.waitFor(async () => expect(await undiscovered()).toEqual([]), {
      timeout: 60_000,
      interval: 200,
    });
    await vi.waitFor(async () => expect(await unready()).toEqual([]), {
      timeout: 60_000,
      interval: 200,
    });
    await vi.waitFor(async () => expect(await codeOfOld()).toBe(410), {
      timeout: 120_000,
      interval: 500,
    });
    judged = await judge(target, CASES);
    if (isRecording) for (const [area, found] of Object.entries(judged)) writeVerdicts(area, found);
  }, 300_000);

  afterAll(async () => {
    client?.close();
    await server?.stop();
  });

  async function definitions(): Promise<Definition[]> {
    let text = '';
    const options = parseOptions(CRDS_OPTIONS, ['--format', 'json'], {});
    await crds(options, { write: (chunk) => (text += chunk) });
    return JSON.parse(text).items;
  }

  /** Names of definitions that are not served, or whose schema is not structural. */
  async function unestablished(): Promise<string[]> {
    const { text } = await client.call({ method: 'GET', path: CRDS });
    const { items } = JSON.parse(text) as { items: Definition[] };
    const is = ({ status }: Definition, type: string): boolean =>
      status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
    return items
      .filter((one) => !is(one, 'Established') || is(one, 'NonStructuralSchema'))
      .map(({ metadata }) => metadata.name);
  }

  /** Discovery and OpenAPI follow some time later. */
  async function undiscovered(): Promise<string[]> {
    const group = 'apis/management.gitplane.dev/v1';
    const { text } = await client.call({ method: 'GET', path: `/${group}` });
    const { text: openapi } = await client.call({ method: 'GET', path: '/openapi/v3' });
    const found = text.includes('"teams/status"') && text.includes('"tenants/status"');
    return found && openapi.includes(`"${group}"`) ? [] : [text];
  }

  /** A kind has a cache, which is filled when it is first asked for. */
  async function unready(): Promise<string[]> {
    const answers = (await definitions()).map(async ({ metadata: { name } }) => {
      const path = `/apis/management.gitplane.dev/v1/${name.split('.')[0]}`;
      const { code } = await client.call({ method: 'GET', path: `${path}?resourceVersion=0` });
      return code === 200 ? [] : [`${name}: ${code}`];
    });
    return (await Promise.all(answers)).flat();
  }

  /** Of a page in the state of the first version, which cases take for gone. */
  async function codeOfOld(): Promise<number> {
    const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"a\\u0000"}').toString(
      'base64url',
    );
    const path = `/apis/management.gitplane.dev/v1/users?limit=1&continue=${token}`;
    return (await client.call({ method: 'GET', path })).code;
  }

  test('accepts every definition, as it is', async () => {
    expect((await definitions()).map(({ metadata }) => metadata.name)).toEqual(
      [
        'config',
        'users',
        'teams',
        'ownedaccesskeys',
        'sharedsecrets',
        'projectsecrets',
        'tenants',
      ].map((plural) => `${plural}.management.gitplane.dev`),
    );
    expect(await unestablished()).toEqual([]);
  });

  test.each(Object.keys(CASES))('gives the verdicts that are written down about %s', (area) => {
    expect(judged[area]).toEqual(readVerdicts(area));
  });
});
