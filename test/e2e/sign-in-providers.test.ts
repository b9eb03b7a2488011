/** People sign in through providers that are not OpenID Connect, with the daemon as it is run. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { type Github, startGithub } from '../support/providers/github.ts';
import { type Gitlab, startGitlab } from '../support/providers/gitlab.ts';
import { type Rancher, startRancher } from '../support/providers/rancher.ts';
import { serverTrust } from '../support/providers/server-trust.ts';

const REDIRECT = 'https://platform.example.com/auth/lab/callback';
const TOKEN = 'token-abcde:anna-s3cret';
const OWN = 'token-platform:own-s3cret';
const ANNA = { id: 583_231, login: 'anna', name: 'Anna Example', orgs: ['octo'] };

let daemon: Daemon;
let hub: Github;
let lab: Gitlab;
let ranch: Rancher;

beforeAll(async () => {
  const trust = await serverTrust();
  [hub, lab, ranch] = await Promise.all([startGithub(trust), startGitlab(), startRancher(trust)]);
  const client = { clientId: 'platform', clientSecret: '$CLIENT' };
  const config = join(scratchDir(), 'config.yaml');
  const hostOf = ({ origin }: { origin: string }): string => new URL(origin).host;
  const auth = {
    connectors: [
      {
        id: 'hub',
        displayName: 'The hub',
        providerA: {
          ...{ ...client, hostName: hostOf(hub), rootCA: trust.ca },
          orgs: [{ name: 'octo', teams: ['Core Team'] }],
        },
      },
      {
        id: 'lab',
        providerB: { ...client, baseURL: lab.origin, groups: ['eng'], redirectURI: REDIRECT },
      },
    ],
    providerE: { host: hostOf(ranch), insecure: true, bearerToken: OWN },
  };
  writeFileSync(config, stringify({ auth }));
  daemon = await startDaemon({ args: ['--config', config], env: { CLIENT: 'client-s3cret' } });
  hub.grants.redirectUris.add(`${daemon.url}/auth/hub/callback`);
  lab.grants.redirectUris.add(REDIRECT);
  ranch.users.set(TOKEN, { id: 'u-anna', username: 'anna', groups: ['github_team://7'] });
});
afterAll(async () => {
  await daemon.stop();
  await Promise.all([hub, lab, ranch].map((server) => server.close()));
});

function cookiesOf({ headers }: Answer): string {
  const set = headers['set-cookie'] ?? [];
  return [set]
    .flat()
    .map((text) => text.split(';')[0])
    .join('; ');
}

/** To the provider and back; what the callback is answered with. */
async function through(id: string, agree: (at: URL) => URL): Promise<Answer> {
  const sent = await daemon.call('GET', `/auth/${id}/login`, { token: null });
  expect(sent.code, sent.text).toBe(303);
  const back = agree(new URL(String(sent.headers['location'])));
  const cookie = cookiesOf(sent);
  return daemon.call('GET', back.pathname + back.search, { token: null, headers: { cookie } });
}

async function whoIs(signedIn: Answer): Promise<{ user: string }> {
  const headers = { cookie: cookiesOf(signedIn) };
  return (await daemon.call('GET', '/auth/session', { token: null, headers })).json();
}

// covers: auth.connectors[].{id,displayName} auth.connectors[].providerA
// covers: auth.connectors[].providerA.{clientId,clientSecret,hostName,rootCA,orgs,orgs[].name,orgs[].teams}
// covers: authentication.connectors.providers
test('a further connector to a server of ones own lets its members in, and makes their team', async () => {
  const member = { ...ANNA, teams: [{ org: 'octo', name: 'Core Team' }] };
  const signedIn = await through('hub', (at) => {
    expect(at.origin).toBe(hub.origin);
    return hub.grants.authorize(at, member);
  });

  expect(signedIn.code, daemon.output()).toBe(303);
  expect(await whoIs(signedIn)).toMatchObject({ user: 'anna' });
  const { items } = (await daemon.call('GET', `${API}/teams`)).json();
  const groups = items.flatMap(({ spec }: { spec: { groups?: string[] } }) => spec.groups ?? []);
  expect(groups).toContain('octo:Core Team');
  const info = (await daemon.call('GET', '/auth/info', { token: null })).json();
  expect(info.methods.sso).toContainEqual(
    expect.objectContaining({ id: 'hub', displayName: 'The hub', type: 'providerA' }),
  );
});

test('a user of no team learns nothing', async () => {
  const refused = await through('hub', (at) => hub.grants.authorize(at, ANNA));

  expect(refused.code).toBe(403);
  expect(cookiesOf(refused)).not.toContain('session');
  expect(refused.text).not.toContain('octo');
});

// covers: auth.connectors[].providerB.{baseURL,redirectURI,groups}
test('the provider gets the redirect URI of the configuration, for any host name of the daemon', async () => {
  const user = { id: 42, username: 'bo', groups: ['eng', 'docs'] };
  const signedIn = await through('lab', (at) => {
    expect(at.searchParams.get('redirect_uri')).toBe(REDIRECT);
    return lab.grants.authorize(at, user);
  });

  expect(signedIn.code, daemon.output()).toBe(303);
  expect(await whoIs(signedIn)).toMatchObject({ user: 'bo' });
  const stranger = { id: 43, username: 'cy', groups: ['docs'] };
  expect((await through('lab', (at) => lab.grants.authorize(at, stranger))).code).toBe(403);
});

// covers: auth.providerE.{host,insecure}
// covers: authentication.connectors.providers
test('a token of the last provider is good for a key, and a wrong one for nothing', async () => {
  const sign = (token: string) =>
    daemon.call('POST', '/auth/providerE/login', { token: null, body: { token } });

  const signedIn = await sign(TOKEN);
  expect(signedIn.code, daemon.output()).toBe(200);
  const { user, accessKey } = signedIn.json();
  const self = `${API}/users/${user}`;
  expect((await daemon.call('GET', self)).json().spec).toMatchObject({ username: 'anna' });
  const reviewed = await daemon.call('POST', '/auth/token', {
    ...{ token: null, body: { key: accessKey } },
  });
  expect(reviewed.json().user).toBe(user);

  const refused = await sign('token-abcde:wrong-s3cret');
  expect(refused.code).toBe(403);
  expect(refused.json()).toMatchObject({ kind: 'Status', reason: 'Forbidden' });
});

test('the same name at different providers is not the same user', async () => {
  const { items } = (await daemon.call('GET', `${API}/users`)).json();
  const annas = items.filter(({ metadata }: { metadata: { name: string } }) =>
    metadata.name.startsWith('anna'),
  );

  expect(annas.length).toBeGreaterThan(1);
});

test('no token of a provider is in an answer, the log or a file', async () => {
  const keys = await daemon.call('GET', `${API}/ownedaccesskeys`);
  const identities = keys
    .json()
    .items.flatMap(({ spec }: { spec: { identity?: object } }) => spec.identity ?? []);

  expect(identities).toContainEqual(expect.objectContaining({ connector: 'hub' }));
  expect(keys.text).not.toContain('s3cret');
  expect(keys.text).not.toContain('connectorData');
  expect(daemon.output()).not.toContain('s3cret');
  expect(filesWith(daemon.dataDir, 's3cret')).toEqual([]);
});

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name);
    return statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).includes(text);
  });
}
