/** What each field of `auth.saml` does (spec 2.8.7), through the connector and its thread. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDomFromString } from '@node-saml/node-saml/lib/xml.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SAMLConfig } from '../../../src/config/sections/auth-saml.ts';
import type {
  Connector,
  LoginTransaction,
  ProvidedIdentity,
} from '../../../src/sign-in/connector.ts';
import { samlConnector } from '../../../src/sign-in/saml/saml-connector.ts';
import { SignInError } from '../../../src/sign-in/sign-in-error.ts';
import {
  responseXml,
  type Said,
  type SigningKey,
  said,
  signedResponse,
  signingKey,
} from '../../support/saml-peer.ts';

const REDIRECT = 'https://p.example.com/auth/saml/callback';
const DAY_MS = 86_400_000;

let key: SigningKey;
let other: SigningKey;
let folder: string;
let keeper: Connector;
const open: Connector[] = [];
const warnings: string[] = [];

beforeAll(async () => {
  [key, other] = await Promise.all([signingKey(), signingKey()]);
  // Holds the threads, which take half a second to start, for all tests.
  keeper = await connector();
  open.length = 0;
  folder = await mkdtemp(join(tmpdir(), 'gitplane-saml-'));
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((connector) => connector.close?.()));
  warnings.length = 0;
});

afterAll(async () => {
  await keeper.close?.();
  await rm(folder, { recursive: true, force: true });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function connector(
  of: Partial<SAMLConfig> = {},
  id = 'saml',
  now = Date.now,
): Promise<Connector> {
  const made = await samlConnector(
    id,
    {
      redirectURI: REDIRECT,
      ssoURL: 'https://idp.example.com/sso?a=1&b=2',
      usernameAttr: 'name',
      emailAttr: 'mail',
      nameIDPolicyFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      ...('ca' in of || of.insecureSkipSignatureValidation
        ? {}
        : { caData: base64(key.certificatePem) }),
      ...of,
    },
    {
      baseUrl: 'https://p.example.com',
      clock: { now },
      warn: (message) => void warnings.push(message),
    },
  );
  open.push(made);
  return made;
}

let logins = 0;

function transaction(): LoginTransaction {
  const number = ++logins;
  return {
    state: `state-${number}`,
    requestId: `_request-${number}`,
    nonce: 'nonce',
    codeVerifier: 'verifier',
    redirectUri: REDIRECT,
    startedAt: Date.now(),
  };
}

function formOf(xml: string, state: string): URLSearchParams {
  return new URLSearchParams({ SAMLResponse: base64(xml), RelayState: state });
}

function words(login: LoginTransaction, of: Partial<Said>): Said {
  return said({ inResponseTo: login.requestId, destination: REDIRECT, ...of });
}

function complete(
  at: Connector,
  login: LoginTransaction,
  form: URLSearchParams,
): Promise<ProvidedIdentity> {
  const callback = { url: new URL(REDIRECT), form };
  return at.complete(login, callback, new AbortController().signal);
}

/** Who signs in when the provider says this. */
async function signIn(
  at: Connector,
  of: Partial<Said> = {},
  signer: SigningKey = key,
): Promise<ProvidedIdentity> {
  const login = transaction();
  const xml = signedResponse(words(login, of), signer, 'assertion');
  return await complete(at, login, formOf(xml, login.state));
}

/** The reason and the code of the refusal. */
async function refusal(of: Promise<unknown>): Promise<string> {
  try {
    await of;
    return 'none';
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    return `${error.reason} ${error.code}`;
  }
}

describe('the request', () => {
  async function request(of: Partial<SAMLConfig> = {}) {
    const login = transaction();
    const sendOff = await (await connector(of)).begin(login, new AbortController().signal);
    if (sendOff.kind !== 'post') throw new Error('no form');
    const xml = Buffer.from(sendOff.fields['SAMLRequest'] ?? '', 'base64').toString();
    const root = (await parseDomFromString(xml)).documentElement;
    const child = (name: string) => root.getElementsByTagNameNS('*', name).item(0);
    return { login, sendOff, root, child };
  }

  // covers: auth.{,connectors[].}saml.ssoURL auth.{,connectors[].}saml
  test('is posted to ssoURL, with the state of the login', async () => {
    const { login, sendOff, root } = await request();
    expect(sendOff.url).toBe('https://idp.example.com/sso?a=1&b=2');
    expect(Object.keys(sendOff.fields).sort()).toEqual(['RelayState', 'SAMLRequest']);
    expect(sendOff.fields['RelayState']).toBe(login.state);
    expect(root.getAttribute('Destination')).toBe('https://idp.example.com/sso?a=1&b=2');
    expect(root.getAttribute('ID')).toBe(login.requestId);
    expect(root.getAttribute('Version')).toBe('2.0');
    expect(root.getAttribute('IssueInstant')).toBe(new Date(login.startedAt).toISOString());
    expect(root.getAttribute('ProtocolBinding')).toBe(
      'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    );
  });

  // covers: auth.{,connectors[].}saml.redirectURI
  test('names redirectURI as the place that takes the answer', async () => {
    const { root } = await request({ redirectURI: 'https://q.example.com/auth/x/callback' });
    expect(root.getAttribute('AssertionConsumerServiceURL')).toBe(
      'https://q.example.com/auth/x/callback',
    );
  });

  // covers: auth.{,connectors[].}saml.entityIssuer
  test.each([
    ['urn:us & "them"', 'urn:us & "them"'],
    [undefined, REDIRECT],
    ['', REDIRECT],
  ])('the request with entityIssuer %j is from %s', async (entityIssuer, issuer) => {
    const { child } = await request(entityIssuer === undefined ? {} : { entityIssuer });
    expect(child('Issuer')?.textContent).toBe(issuer);
  });

  // covers: auth.{,connectors[].}saml.nameIDPolicyFormat
  test.each([
    ['emailAddress', 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'],
    ['unspecified', 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'],
    ['X509SubjectName', 'urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName'],
    [
      'WindowsDomainQualifiedName',
      'urn:oasis:names:tc:SAML:1.1:nameid-format:WindowsDomainQualifiedName',
    ],
    ['encrypted', 'urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted'],
    ['entity', 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity'],
    ['kerberos', 'urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos'],
    ['persistent', 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'],
    ['transient', 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'],
    [
      'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
      'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    ],
  ])('asks for NameIDs of the format %s', async (nameIDPolicyFormat, uri) => {
    const { child } = await request({ nameIDPolicyFormat });
    expect(child('NameIDPolicy')?.getAttribute('Format')).toBe(uri);
    expect(child('NameIDPolicy')?.getAttribute('AllowCreate')).toBe('true');
  });
});

describe('users who sign in', () => {
  // covers: auth.{,connectors[].}saml.{usernameAttr,emailAttr,groupsAttr}
  test('is the NameID, with what the named attributes say', async () => {
    const at = await connector({ usernameAttr: 'uid', emailAttr: 'mail', groupsAttr: 'memberOf' });
    const attributes: Said['attributes'] = [
      ['name', ['nobody']],
      ['uid', [' ann ']],
      ['mail', ['ann@example.com', 'second@example.com']],
      ['memberOf', ['dev', 'ops']],
      ['memberOf', ['more']],
    ];
    expect(await signIn(at, { attributes, nameId: 'ID:1' })).toEqual({
      userId: 'ID:1',
      username: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      groups: ['dev', 'ops', 'more'],
      extraClaims: {},
    });
  });

  test('has no groups where none are asked for', async () => {
    expect((await signIn(await connector())).groups).toEqual([]);
  });

  test.each([
    ['usernameAttr', { usernameAttr: 'x' }],
    ['emailAttr', { emailAttr: 'x' }],
    ['groupsAttr', { groupsAttr: 'x' }],
    ['a name of another place', { usernameAttr: '__proto__' }],
    ['a name of an object', { emailAttr: 'constructor' }],
  ])('is no user without the attribute for %s', async (_, of) => {
    expect(await refusal(signIn(await connector(of)))).toBe('no-attribute 502');
  });

  test('is in no group, and signs in, where the attribute is there and empty', async () => {
    const attributes: Said['attributes'] = [
      ['name', ['ann']],
      ['mail', ['a@b']],
      ['groups', []],
    ];
    const at = await connector({ groupsAttr: 'groups' });
    expect((await signIn(at, { attributes })).groups).toEqual([]);
  });

  // covers: auth.{,connectors[].}saml.groupsDelim
  test.each([
    [',', 'dev, ops ,,qa', ['dev', 'ops', 'qa']],
    [';', 'dev, ops', ['dev, ops']],
    ['::', ' dev::ops', ['dev', 'ops']],
    ['', 'dev, ops', ['dev, ops']],
  ])('a user with groupsDelim %j and groups %j is in %j', async (groupsDelim, text, groups) => {
    const attributes: Said['attributes'] = [
      ['name', ['ann']],
      ['mail', ['a@b']],
      ['groups', [text]],
    ];
    const at = await connector({ groupsAttr: 'groups', groupsDelim });
    expect((await signIn(at, { attributes })).groups).toEqual(groups);
  });

  // covers: auth.{,connectors[].}saml.{allowedGroups,filterGroups}
  test.each([
    [['ops', 'qa'], false, ['dev', 'ops']],
    [['ops', 'qa'], true, ['ops']],
    [[], true, ['dev', 'ops']],
  ])(
    'a user with allowedGroups %j, filterGroups %j is in %j',
    async (allowedGroups, filterGroups, groups) => {
      const at = await connector({ groupsAttr: 'groups', allowedGroups, filterGroups });
      expect((await signIn(at)).groups).toEqual(groups);
    },
  );

  test.each([[['qa']], [['DEV']], [['de']]])(
    'is refused who is in none of %j',
    async (allowedGroups) => {
      const at = await connector({ groupsAttr: 'groups', allowedGroups });
      expect(await refusal(signIn(at))).toBe('not-a-member 403');
    },
  );
});

describe('a response', () => {
  // covers: auth.{,connectors[].}saml.ssoIssuer
  test.each([
    ['https://idp.example.com/metadata', 'none'],
    ['https://idp.example.com/', 'issuer 400'],
    [undefined, 'none'],
  ])('a response with ssoIssuer %s: %s', async (ssoIssuer, reason) => {
    const at = await connector(ssoIssuer === undefined ? {} : { ssoIssuer });
    expect(await refusal(signIn(at, { responseIssuer: undefined }))).toBe(reason);
  });

  // covers: auth.{,connectors[].}saml.entityIssuer
  test.each([
    ['urn:us', 'urn:us', 'none'],
    ['urn:us', REDIRECT, 'audience 400'],
    ['', REDIRECT, 'none'],
    ['', 'urn:us', 'audience 400'],
  ])('a response with entityIssuer %j is for %s: %s', async (entityIssuer, audience, reason) => {
    const at = await connector({ entityIssuer });
    expect(await refusal(signIn(at, { audiences: [audience] }))).toBe(reason);
  });

  // covers: auth.{,connectors[].}saml.redirectURI
  test('goes to redirectURI and nowhere else', async () => {
    const at = await connector();
    const destination = 'https://p.example.com/auth/other/callback';
    const audiences = [REDIRECT];
    expect(await refusal(signIn(at, { destination, audiences, recipient: REDIRECT }))).toBe(
      'destination 400',
    );
    expect(await refusal(signIn(at, { recipient: destination }))).toBe('recipient 400');
  });

  test('is taken once, by new connectors of a changed configuration as well', async () => {
    const login = transaction();
    const form = formOf(signedResponse(words(login, {}), key, 'both'), login.state);
    const first = await connector();
    expect((await complete(first, login, form)).userId).toBe('u-4711');
    expect(await refusal(complete(first, login, form))).toBe('replayed 400');
    expect(await refusal(complete(await connector(), login, form))).toBe('replayed 400');
  });

  test('answers the login that it came back to', async () => {
    const [first, second] = [transaction(), transaction()];
    const at = await connector();
    const xml = signedResponse(words(first, {}), key, 'assertion');
    expect(await refusal(complete(at, second, formOf(xml, second.state)))).toBe(
      'in-response-to 400',
    );
    expect(await refusal(complete(at, first, formOf(xml, second.state)))).toBe('relay-state 400');
  });

  test('comes alone', async () => {
    const login = transaction();
    const at = await connector();
    const form = formOf(signedResponse(words(login, {}), key, 'assertion'), login.state);
    form.append('SAMLResponse', form.get('SAMLResponse') ?? '');
    expect(await refusal(complete(at, login, form))).toBe('no-response 400');
    const empty = new URLSearchParams({ RelayState: login.state });
    expect(await refusal(complete(at, login, empty))).toBe('no-response 400');
  });

  test('a response with a NameID that changes each time is taken only where that was asked for', async () => {
    const nameIdFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
    expect(await refusal(signIn(await connector(), { nameIdFormat }))).toBe(
      'transient-name-id 400',
    );
    const asked = await connector({ nameIDPolicyFormat: 'transient' });
    expect((await signIn(asked, { nameIdFormat })).userId).toBe('u-4711');
  });

  test('a refused response appears in no message about it', async () => {
    const login = transaction();
    const xml = signedResponse(
      words(login, { nameId: 'hunter2', audiences: ['hunter2'] }),
      key,
      'both',
    );
    const failed = complete(await connector(), login, formOf(xml, login.state));
    const error = await failed.then(
      () => undefined,
      (found: Error) => found,
    );
    expect(error?.message).toBe('the SAML response is not taken: it is for another audience');
    expect(`${error?.stack} ${String(error?.cause)}`).not.toContain('hunter2');
  });
});

describe('certificates', () => {
  // covers: auth.{,connectors[].}saml.caData
  test.each([
    ['the one', () => key.certificatePem, 'none'],
    ['another', () => other.certificatePem, 'other-certificate 400'],
    ['several', () => other.certificatePem + key.certificatePem, 'none'],
  ])('certificates in caData are read: %s', async (_, pem, reason) => {
    expect(await refusal(signIn(await connector({ caData: base64(pem()) })))).toBe(reason);
  });

  // covers: auth.{,connectors[].}saml.ca
  test('certificates in the file of ca are read again at every login', async () => {
    const ca = join(folder, 'signing.pem');
    await writeFile(ca, other.certificatePem);
    const at = await connector({ ca });
    expect(await refusal(signIn(at))).toBe('other-certificate 400');
    await writeFile(ca, `# both, while it changes\n${other.certificatePem}${key.certificatePem}`);
    expect(await refusal(signIn(at))).toBe('none');
    await writeFile(ca, 'no certificate');
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
    await writeFile(ca, key.certificatePem.padStart(2 * 1024 * 1024));
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
    await rm(ca);
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
    expect(warnings).toEqual([]);
  });

  test('certificates that cannot be read are reported at once, and admit no user', async () => {
    const at = await connector({ ca: join(folder, 'missing.pem') });
    expect(warnings).toEqual([
      expect.stringMatching(/^no user can sign in: .*missing.pem cannot be read$/),
    ]);
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
  });

  test('certificates that are missing send no user to the provider', async () => {
    const at = await connector({ ca: join(folder, 'missing.pem') });
    const begun = at.begin(transaction(), new AbortController().signal);
    expect(await refusal(begun)).toBe('no-certificate 502');
  });

  test('a certificate file that is no file is not waited for', async () => {
    const at = await connector({ ca: '/dev/zero' });
    expect(warnings).toEqual([expect.stringContaining('/dev/zero cannot be read')]);
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
  });

  test('missing certificates never mean that none are needed', async () => {
    const at = await connector({ caData: '' });
    expect(warnings).toEqual([expect.stringContaining('no user can sign in')]);
    expect(await refusal(signIn(at))).toBe('no-certificate 502');
  });

  test('certificates outside of their dates are ignored', async () => {
    const from = Date.now() - 10 * DAY_MS;
    const [ended, later] = await Promise.all([
      signingKey({ from, until: Date.now() - DAY_MS }),
      signingKey({ from: Date.now() + DAY_MS }),
    ]);
    for (const foreign of [ended, later]) {
      const alone = await connector({ caData: base64(foreign.certificatePem) });
      expect(await refusal(signIn(alone, {}, foreign))).toBe('certificate-expired 502');
      const beside = await connector({
        caData: base64(foreign.certificatePem + key.certificatePem),
      });
      expect(await refusal(signIn(beside, {}, foreign))).toBe('other-certificate 400');
      expect(await refusal(signIn(beside))).toBe('none');
    }
    expect(warnings.join('\n')).toMatch(/has not been valid since/);
    expect(warnings.join('\n')).toMatch(/is not valid before/);
  });

  test('certificates that end within 30 days are reported once a day', async () => {
    const soon = await signingKey({ until: Date.now() + 20.5 * DAY_MS });
    let now = Date.now();
    const at = await connector({ caData: base64(soon.certificatePem) }, 'saml', () => now);
    await signIn(at, {}, soon);
    expect(warnings).toEqual([expect.stringMatching(/ends in 20 days/)]);
    now += DAY_MS;
    await refusal(signIn(at, { now }, soon));
    expect(warnings).toEqual([expect.any(String), expect.stringMatching(/ends in 19 days/)]);
  });
});

// covers: auth.{,connectors[].}saml.insecureSkipSignatureValidation
test('a connector without a check of signatures checks the rest, and the identity reports it', async () => {
  const at = await connector({ insecureSkipSignatureValidation: true });
  expect(warnings).toEqual([expect.stringContaining('any client can sign in as any user')]);
  const unsigned = (of: Partial<Said>): Promise<ProvidedIdentity> => {
    const login = transaction();
    return complete(at, login, formOf(responseXml(words(login, of)), login.state));
  };
  const found = await unsigned({});
  expect(found).toMatchObject({ userId: 'u-4711', emailVerified: false, isUnchecked: true });
  expect(await refusal(unsigned({ audiences: ['x'] }))).toBe('audience 400');
  expect(await refusal(unsigned({ confirmedRequest: '_other' }))).toBe('in-response-to 400');
  // A signature that means nothing is in nobody's way.
  expect((await signIn(at, {}, other)).userId).toBe('u-4711');
});
