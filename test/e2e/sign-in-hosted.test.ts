/**
 * People sign in through providers whose hosts are fixed (Google, Microsoft) and through SAML, with the
 * daemon as it is run. Connections to the fixed hosts are led to servers of this test, with
 * certificates that the daemon checks.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';
import { type Google, googleOrigins, startGoogle } from '../support/providers/google.ts';
import {
  type Microsoft,
  microsoftOrigins,
  startMicrosoft,
} from '../support/providers/microsoft.ts';
import { serverTrust } from '../support/providers/server-trust.ts';
import { type SigningKey, said, signedResponse, signingKey } from '../support/saml-peer.ts';

const REROUTE = fileURLToPath(new URL('../support/providers/reroute.mjs', import.meta.url));
const TENANT = '11111111-2222-3333-4444-555555555555';
const STAFF = { id: '0000aaaa-0000-0000-0000-000000000001', displayName: 'Staff' };

let daemon: Daemon;
let google: Google;
let microsoft: Microsoft;
let idp: SigningKey;

beforeAll(async () => {
  const hosts = ['oauth2.googleapis.com', 'www.googleapis.com', 'admin.googleapis.com'];
  const trust = await serverTrust([...hosts, 'login.microsoftonline.com', 'graph.microsoft.com']);
  [google, microsoft, idp] = await Promise.all([
    startGoogle(trust),
    startMicrosoft(trust),
    signingKey(),
  ]);
  microsoft.groups.set(STAFF.id, STAFF);
  google.directory.set('anna@corp.example', ['staff@corp.example']);
  const [folder, port] = [scratchDir(), await freePort()];
  writeFileSync(join(folder, 'ca.pem'), trust.ca);
  writeFileSync(join(folder, 'service.json'), JSON.stringify(google.serviceAccount));
  const client = { clientId: 'platform', clientSecret: '$CLIENT' };
  const auth = {
    providerC: {
      ...client,
      hostedDomains: ['corp.example'],
      groups: ['staff@corp.example'],
      serviceAccountFilePath: join(folder, 'service.json'),
      adminEmail: google.adminEmail,
    },
    providerD: { ...client, tenant: TENANT, groups: ['Staff'] },
    saml: {
      redirectURI: `https://127.0.0.1:${port}/auth/saml/callback`,
      ssoURL: 'https://idp.example.com/sso',
      caData: Buffer.from(idp.certificatePem).toString('base64'),
      ...{ usernameAttr: 'name', emailAttr: 'mail', groupsAttr: 'groups' },
      allowedGroups: ['dev'],
    },
  };
  writeFileSync(join(folder, 'config.yaml'), stringify({ auth }));
  const origins = { ...googleOrigins(google), ...microsoftOrigins(microsoft) };
  const routes = Object.entries(origins).map(([from, to]) => [
    new URL(from).host,
    Number(new URL(to).port),
  ]);
  daemon = await startDaemon({
    args: ['--listen', `127.0.0.1:${port}`, '--config', join(folder, 'config.yaml')],
    node: ['--import', REROUTE],
    env: {
      CLIENT: 'client-s3cret',
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
      TEST_ROUTES: JSON.stringify(Object.fromEntries(routes)),
    },
  });
  google.grants.redirectUris.add(`${daemon.url}/auth/providerC/callback`);
  microsoft.grants.redirectUris.add(`${daemon.url}/auth/providerD/callback`);
});
afterAll(async () => {
  await daemon?.stop();
  await Promise.all([google, microsoft].map((server) => server?.close()));
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
  const headers = { cookie: cookiesOf(sent) };
  return daemon.call('GET', back.pathname + back.search, { token: null, headers });
}

/** Through the form that takes the browser to the provider, and the one that brings it back. */
async function throughSaml(of: object, signer = idp): Promise<Answer> {
  const sent = await daemon.call('GET', '/auth/saml/login', { token: null });
  expect(sent.code, sent.text).toBe(200);
  const field = (name: string): string =>
    new RegExp(`name="${name}" value="([^"]+)"`).exec(sent.text)?.[1] ?? '';
  const request = requestText(field('SAMLRequest').replaceAll('&#43;', '+'));
  const at = (name: string): string => new RegExp(`${name}="([^"]+)"`).exec(request)?.[1] ?? '';
  const destination = at('AssertionConsumerServiceURL');
  const words = said({ inResponseTo: at(' ID'), destination, ...of });
  const response = signedResponse(words, signer, 'both');
  const body = new URLSearchParams({
    SAMLResponse: Buffer.from(response).toString('base64'),
    RelayState: field('RelayState'),
  }).toString();
  const form = { token: null, type: 'application/x-www-form-urlencoded', body };
  // It comes from another site, so without the cookie; a page of the platform sends it on with that.
  const posted = await daemon.call('POST', new URL(destination).pathname, form);
  expect(posted.code, posted.text).toBe(200);
  expect(posted.text).toContain('action="/auth/saml/finish"');
  const headers = { cookie: cookiesOf(sent) };
  return await daemon.call('POST', '/auth/saml/finish', { ...form, headers });
}

/** Packed or not: bindings differ. */
function requestText(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString();
  return text.startsWith('<') ? text : inflateRawSync(bytes).toString();
}

async function userOf(signedIn: Answer): Promise<{ name: string; spec: object }> {
  const headers = { cookie: cookiesOf(signedIn) };
  const session = await daemon.call('GET', '/auth/session', { token: null, headers });
  const { user: name } = session.json();
  return { name, spec: (await daemon.call('GET', `${API}/users/${name}`)).json().spec };
}

// covers: auth.providerC.{clientId,clientSecret,hostedDomains,groups,serviceAccountFilePath,adminEmail}
// covers: authentication.connectors.providers
test('members of a group of the directory sign in with Google, and no other user', async () => {
  const anna = {
    sub: '1093',
    email: 'anna@corp.example',
    email_verified: true,
    hd: 'corp.example',
  };
  const signedIn = await through('providerC', (at) => {
    expect(at.host).toBe('accounts.google.com');
    return google.grants.authorize(at, { ...anna, name: 'Anna' });
  });
  expect(signedIn.code, daemon.output()).toBe(303);
  expect((await userOf(signedIn)).spec).toMatchObject({
    ...{ connector: 'providerC', subject: '1093', email: 'anna@corp.example' },
    ssoGroups: ['staff@corp.example'],
  });
  const others = [
    { ...anna, sub: '2', email: 'bo@corp.example' },
    { ...anna, sub: '3', hd: 'other.example' },
  ];
  for (const other of others) {
    const refused = await through('providerC', (at) => google.grants.authorize(at, other));
    expect(refused.code).toBe(403);
    expect(cookiesOf(refused)).not.toContain('session');
  }
});

// covers: auth.providerD.{clientId,clientSecret,tenant,groups}
// covers: authentication.connectors.providers
test('members of a group of the tenant sign in with Microsoft, and no other user', async () => {
  const cy = {
    id: 'aaaa-cy',
    tid: TENANT,
    displayName: 'Cy',
    userPrincipalName: 'cy@corp.example',
  };
  const signedIn = await through('providerD', (at) => {
    expect(at.origin + at.pathname).toBe(
      `https://login.microsoftonline.com/${TENANT}/oauth2/v2.0/authorize`,
    );
    return microsoft.grants.authorize(at, { ...cy, groups: [STAFF.id] });
  });
  expect(signedIn.code, daemon.output()).toBe(303);
  expect((await userOf(signedIn)).spec).toMatchObject({
    ...{ connector: 'providerD', subject: 'aaaa-cy', ssoGroups: ['Staff'] },
  });
  const strangers = [
    { ...cy, id: 'aaaa-di' },
    { ...cy, id: 'aaaa-ed', groups: [STAFF.id], tid: '99999999-2222-3333-4444-555555555555' },
  ];
  for (const stranger of strangers) {
    const refused = await through('providerD', (at) => microsoft.grants.authorize(at, stranger));
    expect(refused.code).toBe(403);
    expect(cookiesOf(refused)).not.toContain('session');
  }
});

// covers: auth.saml.{ssoURL,caData,usernameAttr,emailAttr,groupsAttr,allowedGroups}
// covers: authentication.connectors.saml
test('people sign in with signed SAML responses, and with no others', async () => {
  const signedIn = await throughSaml({});
  expect(signedIn.code, `${signedIn.text}\n${daemon.output()}`).toBe(303);
  expect((await userOf(signedIn)).spec).toMatchObject({
    ...{ connector: 'saml', subject: 'u-4711', email: 'ann@example.com' },
    ssoGroups: ['dev', 'ops'],
  });
  const attributes = [
    ['name', ['ann']],
    ['mail', ['ann@example.com']],
    ['groups', ['ops']],
  ];
  const refused = [
    await throughSaml({}, await signingKey({ name: 'another' })),
    await throughSaml({ inResponseTo: '_another-request' }),
    await throughSaml({ notOnOrAfter: Date.now() - 600_000 }),
    await throughSaml({ attributes }),
  ];
  for (const answer of refused) {
    expect([400, 403]).toContain(answer.code);
    expect(cookiesOf(answer)).not.toContain('session');
  }
  await expect.poll(() => daemon.output()).toMatch(/"reason":"(signature|other-certificate)"/);
  await expect.poll(() => daemon.output()).toContain('"connector":"saml","reason":"not-a-member"');
});

test('no secret of a provider is in an answer, the log or a file', async () => {
  const keys = await daemon.call('GET', `${API}/ownedaccesskeys`);

  expect(keys.text).not.toContain('s3cret');
  expect(daemon.output()).not.toMatch(/s3cret|PRIVATE KEY/);
  const files = readdirSync(daemon.dataDir, { recursive: true, encoding: 'utf8' });
  const holding = files.filter((name) => {
    const path = join(daemon.dataDir, name);
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
    return isFile && readFileSync(path).includes('s3cret');
  });
  expect(holding).toEqual([]);
});
