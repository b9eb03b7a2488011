/** Responses that somebody made or changed: each is refused with a reason, and none says who signs in. */
import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { readResponse } from '../../../src/sign-in/saml/read-response.ts';
import { Refusal } from '../../../src/sign-in/saml/refusal.ts';
import { responseText } from '../../../src/sign-in/saml/response-text.ts';
import type { Expected } from '../../../src/sign-in/saml/worker-messages.ts';
import {
  assertionXml,
  responseXml,
  type Said,
  type SigningKey,
  type SigningMode,
  said,
  sign,
  signedResponse,
  signingKey,
} from '../../support/saml-peer.ts';

const REDIRECT = 'https://p.example.com/auth/saml/callback';
const REQUEST = '_request-1';
const MODES: readonly SigningMode[] = ['response', 'assertion', 'both'];

let key: SigningKey;
let attacker: SigningKey;

beforeAll(async () => {
  [key, attacker] = await Promise.all([signingKey(), signingKey({ name: 'attacker' })]);
});

function expected(of: Partial<Expected> = {}): Expected {
  return {
    requestId: REQUEST,
    redirectUri: REDIRECT,
    audience: REDIRECT,
    issuer: 'https://idp.example.com/metadata',
    now: Date.now(),
    ...of,
  };
}

function ours(of: Partial<Said> = {}): Said {
  return said({ inResponseTo: REQUEST, destination: REDIRECT, ...of });
}

/** Times are those of the test, and not of the table that it stands in. */
function given(of: Partial<Said> | (() => Partial<Said>)): Partial<Said> {
  return typeof of === 'function' ? of() : of;
}

/** The NameID, or why not. */
async function outcome(
  xml: string,
  of: { certificates?: string[]; expected?: Expected } = {},
): Promise<string> {
  try {
    const answer = await readResponse({
      text: responseText(Buffer.from(xml).toString('base64')),
      expected: of.expected ?? expected(),
      certificates: of.certificates ?? [key.certificatePem],
      trust: 'signed',
    });
    return 'facts' in answer ? `is ${answer.facts.nameId}` : answer.refused.reason;
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
}

const SIGNATURE = /<ds:Signature[\s\S]*?<\/ds:Signature>/;
const ASSERTION = /<saml:Assertion[\s\S]*<\/saml:Assertion>/;

function part(xml: string, pattern: RegExp): string {
  const [found] = pattern.exec(xml) ?? [];
  if (found === undefined) throw new Error(`there is no ${pattern}`);
  return found;
}

/** As `replace`, and it must change something. */
function changed(xml: string, pattern: RegExp | string, by: string): string {
  const result = xml.replace(pattern, () => by);
  if (result === xml) throw new Error(`${pattern} changes nothing`);
  return result;
}

describe.each(MODES)('signed in mode %s', (mode) => {
  test('a good response is taken', async () => {
    expect(await outcome(signedResponse(ours(), key, mode))).toBe('is u-4711');
  });

  const mutations: [string, (xml: string) => string, string | RegExp][] = [
    ['another NameID', (xml) => changed(xml, '>u-4711<', '>admin<'), 'signature'],
    ['another group', (xml) => changed(xml, '>ops<', '>admins<'), 'signature'],
    [
      'another name of an attribute',
      (xml) => changed(xml, 'Name="mail"', 'Name="name"'),
      'signature',
    ],
    [
      'one more attribute',
      (xml) =>
        changed(
          xml,
          '</saml:AttributeStatement>',
          '<saml:Attribute Name="groups"><saml:AttributeValue>admins</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
        ),
      'signature',
    ],
    [
      'a later end',
      (xml) => changed(xml, /NotOnOrAfter="20/, 'NotOnOrAfter="21'),
      /signature|expired/,
    ],
    [
      'another format of the NameID',
      (xml) => changed(xml, 'nameid-format:persistent', 'nameid-format:transient'),
      'signature',
    ],
    ['no signature', (xml) => xml.replace(SIGNATURE, '').replace(SIGNATURE, ''), 'unsigned'],
    [
      'two SignedInfo',
      (xml) => {
        const info = part(xml, /<ds:SignedInfo[\s\S]*?<\/ds:SignedInfo>/);
        return changed(xml, info, info + info);
      },
      'signature-shape',
    ],
    [
      'two SignatureValue',
      (xml) => {
        const value = part(xml, /<ds:SignatureValue[\s\S]*?<\/ds:SignatureValue>/);
        return changed(xml, value, value + value);
      },
      'signature-shape',
    ],
    [
      'a comment in DigestValue',
      (xml) => changed(xml, '<ds:DigestValue>', '<ds:DigestValue><!--x-->'),
      'has-comment',
    ],
    [
      'another DigestValue',
      (xml) => changed(xml, /<ds:DigestValue>..../, '<ds:DigestValue>AAAA'),
      'signature',
    ],
    [
      'another SignatureValue',
      (xml) => changed(xml, /<ds:SignatureValue>..../, '<ds:SignatureValue>AAAA'),
      'signature',
    ],
    [
      'a comment in the NameID',
      (xml) => changed(xml, '>u-4711<', '>u<!--x-->-4711<'),
      'has-comment',
    ],
    [
      'CDATA in the NameID',
      (xml) => changed(xml, '>u-4711<', '><![CDATA[u-4711]]><'),
      'has-comment',
    ],
    [
      'an instruction in the NameID',
      (xml) => changed(xml, '>u-4711<', '>u<?x y?>-4711<'),
      'has-instruction',
    ],
    [
      'an entity of its own',
      (xml) => `<!DOCTYPE r [<!ENTITY e "admin">]>${changed(xml, '>u-4711<', '>&e;<')}`,
      'has-dtd',
    ],
    [
      'an entity that nobody declared',
      (xml) => changed(xml, '>u-4711<', '>&e;u-4711<'),
      'has-entity',
    ],
    [
      'one id twice',
      (xml) => {
        const id = part(xml, /ID="_[^"]*a"/);
        return changed(xml, '<samlp:Status>', `<samlp:Status ${id}>`);
      },
      'duplicate-id',
    ],
    [
      'an id twice in other letters',
      (xml) => {
        const id = part(xml, /ID="_[^"]*a"/).replace('ID', 'Id');
        return changed(xml, '<samlp:Status>', `<samlp:Status ${id}>`);
      },
      'duplicate-id',
    ],
    ['a reference to everything', (xml) => changed(xml, / URI="#[^"]*"/, ' URI=""'), 'signature'],
    [
      'a reference to nothing',
      (xml) => changed(xml, / URI="#[^"]*"/, ' URI="#other"'),
      'signature',
    ],
    [
      'a transform that drops things',
      (xml) =>
        changed(
          xml,
          '<ds:Transforms>',
          '<ds:Transforms><ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/>',
        ),
      'weak-algorithm',
    ],
    [
      'SHA-1 by name',
      (xml) => changed(xml, /xmldsig-more#rsa-sha256/, 'xmldsig-more#rsa-sha1'),
      'weak-algorithm',
    ],
    [
      'a certificate of somebody else in KeyInfo',
      (xml) =>
        changed(
          xml,
          /(?<=<ds:X509Certificate>)[^<]+/,
          attacker.certificatePem.replace(/-----[^-]+-----|\s/g, ''),
        ),
      // Nothing that counts: the key is never taken from there. See below for a signature with it.
      /is u-4711|signature/,
    ],
    [
      'a second assertion',
      (xml) => changed(xml, '</samlp:Response>', `${assertionXml(ours())}</samlp:Response>`),
      'assertion-count',
    ],
    [
      'a second assertion of another namespace',
      (xml) => changed(xml, '</samlp:Response>', '<x:Assertion xmlns:x="urn:x"/></samlp:Response>'),
      'assertion-count',
    ],
    [
      'an encrypted assertion beside it',
      (xml) =>
        changed(
          xml,
          '</samlp:Response>',
          '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/></samlp:Response>',
        ),
      'encrypted',
    ],
    [
      'another destination',
      (xml) => changed(xml, `Destination="${REDIRECT}"`, 'Destination="https://other/"'),
      'destination',
    ],
    [
      'another request',
      (xml) => changed(xml, `InResponseTo="${REQUEST}"`, 'InResponseTo="_other"'),
      'in-response-to',
    ],
    ['no request', (xml) => changed(xml, ` InResponseTo="${REQUEST}"`, ''), 'in-response-to'],
    ['another status', (xml) => changed(xml, 'status:Success', 'status:Responder'), 'no-success'],
    [
      'two status',
      (xml) =>
        changed(
          xml,
          '<samlp:Status>',
          '<samlp:Status><samlp:StatusCode Value="x"/></samlp:Status><samlp:Status>',
        ),
      'no-status',
    ],
    [
      'another issuer outside',
      (xml) => changed(xml, /metadata<\/saml:Issuer>/, 'evil</saml:Issuer>'),
      /issuer|signature/,
    ],
    [
      'another name of the root',
      (xml) =>
        changed(xml, '<samlp:Response', '<samlp:ArtifactResponse').replace(
          '</samlp:Response>',
          '</samlp:ArtifactResponse>',
        ),
      'no-response',
    ],
    ['something before the root', (xml) => `<x/>${xml}`, /no-xml|no-response/],
    ['something behind the root', (xml) => `${xml}<x/>`, /no-xml|assertion-count/],
    ['no end', (xml) => xml.slice(0, -8), 'no-xml'],
  ];

  test.each(mutations)('%s is refused', async (_, mutate, reason) => {
    const found = await outcome(mutate(signedResponse(ours(), key, mode)));
    expect(found).toMatch(reason instanceof RegExp ? reason : new RegExp(`^${reason}$`));
    expect(found).not.toBe('is admin');
  });

  test.each([
    ['other-certificate', () => attacker],
    ['signature', () => ({ ...attacker, certificatePem: key.certificatePem })],
  ])('the key of another signer is refused: %s', async (reason, foreign) => {
    expect(await outcome(signedResponse(ours(), foreign(), mode))).toBe(reason);
  });

  test('no certificate at all never means that none is needed', async () => {
    const xml = signedResponse(ours(), key, mode);
    expect(await outcome(xml, { certificates: [] })).toBe('no-certificate');
    expect(await outcome(responseXml(ours()), { certificates: [] })).toBe('no-certificate');
  });

  test('a response needs only one of several certificates', async () => {
    const certificates = [attacker.certificatePem, key.certificatePem];
    expect(await outcome(signedResponse(ours(), key, mode), { certificates })).toBe('is u-4711');
  });

  test.each<[string, Partial<Said> | (() => Partial<Said>)]>([
    ['audience', { audiences: ['https://other.example.com/'] }],
    ['audience', { audiences: undefined }],
    ['audience', { audiences: [] }],
    ['audience', { audiences: [`${REDIRECT}/`] }],
    ['recipient', { recipient: 'https://other.example.com/' }],
    ['destination', { destination: 'https://other.example.com/', audiences: [REDIRECT] }],
    ['in-response-to', { inResponseTo: '_other', confirmedRequest: '_other' }],
    ['in-response-to', { inResponseTo: undefined, confirmedRequest: undefined }],
    ['in-response-to', { confirmedRequest: undefined }],
    ['in-response-to', { confirmedRequest: '_other' }],
    ['in-response-to', { inResponseTo: undefined, confirmedRequest: REQUEST }],
    ['issuer', { issuer: 'https://evil.example.com/' }],
    ['issuer', { responseIssuer: 'https://evil.example.com/' }],
    ['no-success', { status: '<samlp:StatusCode Value="urn:x"/>' }],
    ['no-success', { status: '' }],
    [
      'denied-by-provider',
      {
        status:
          '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"/></samlp:StatusCode><samlp:StatusMessage>no</samlp:StatusMessage>',
      },
    ],
    ['expired', () => ({ notOnOrAfter: Date.now() - 31_000 })],
    ['expired', () => ({ confirmedUntil: Date.now() - 31_000 })],
    ['expired', { confirmedUntil: undefined }],
    ['expired', () => ({ issuedAt: Date.now() - 631_000 })],
    ['not-yet-valid', () => ({ notBefore: Date.now() + 60_000 })],
    ['not-yet-valid', () => ({ issuedAt: Date.now() + 60_000 })],
    ['no-confirmation', { confirmation: '' }],
    [
      'no-confirmation',
      {
        confirmation:
          '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"/>',
      },
    ],
    [
      'no-confirmation',
      {
        confirmation: '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"/>',
      },
    ],
    ['name-id', { nameId: '' }],
    ['name-id', { nameId: ' ' }],
    ['name-id', { nameId: 'a\nb' }],
    ['mixed-text', { nameId: 'u<x/>-4711' }],
    ['assertion-count', { more: '<saml:Advice><saml:Assertion/></saml:Advice>' }],
  ])('signed, and still refused: %s %o', async (reason, of) => {
    expect(await outcome(signedResponse(ours(given(of)), key, mode))).toBe(reason);
  });

  test.each<[string, Partial<Said> | (() => Partial<Said>)]>([
    ['no recipient', { recipient: undefined }],
    ['no destination', { destination: undefined, recipient: REDIRECT, audiences: [REDIRECT] }],
    ['no issuer of the response', { responseIssuer: undefined }],
    ['a clock that is a little behind', () => ({ notBefore: Date.now() + 20_000 })],
    ['a clock that is a little ahead', () => ({ notOnOrAfter: Date.now() - 10_000 })],
    ['several audiences', { audiences: ['https://other.example.com/', REDIRECT] }],
    [
      'attributes with names of objects',
      {
        attributes: [
          ['__proto__', ['x']],
          ['nameID', ['admin']],
          ['constructor', ['x']],
          ['hasOwnProperty', ['y']],
          ['issuer', ['z']],
        ],
      },
    ],
    ['an attribute that is a tree', { attributes: [['a', ['<x xmlns="urn:x"><y>admin</y></x>']]] }],
    ['no attributes', { attributes: [] }],
  ])('signed and good: %s', async (_, of) => {
    expect(await outcome(signedResponse(ours(given(of)), key, mode))).toBe('is u-4711');
  });

  test.each([
    ['http://www.w3.org/2000/09/xmldsig#rsa-sha1', undefined],
    [undefined, 'http://www.w3.org/2000/09/xmldsig#sha1'],
  ])('SHA-1 is refused although its signature holds: %s %s', async (signature, digest) => {
    const what = mode === 'response' ? 'Response' : 'Assertion';
    const xml = sign(responseXml(ours()), {
      key,
      what,
      ...(signature === undefined ? {} : { signatureAlgorithm: signature }),
      ...(digest === undefined ? {} : { digestAlgorithm: digest }),
    });
    expect(await outcome(xml)).toBe('weak-algorithm');
  });

  test.each([
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
    'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  ])('%s is taken', async (signatureAlgorithm) => {
    const what = mode === 'response' ? 'Response' : 'Assertion';
    const xml = sign(responseXml(ours()), { key, what, signatureAlgorithm });
    expect(await outcome(xml)).toBe('is u-4711');
  });

  test('HMAC with the public certificate as its key is refused', async () => {
    const good = signedResponse(ours(), key, mode);
    const info = part(good, /<ds:SignedInfo[\s\S]*?<\/ds:SignedInfo>/).replace(
      /Algorithm="[^"]*rsa-sha256"/,
      'Algorithm="http://www.w3.org/2000/09/xmldsig#hmac-sha1"',
    );
    const value = createHmac('sha1', key.certificatePem).update(info).digest('base64');
    const xml = good
      .replace(/<ds:SignedInfo[\s\S]*?<\/ds:SignedInfo>/, () => info)
      .replace(/(?<=<ds:SignatureValue>)[^<]*/, () => value);
    expect(await outcome(xml)).toBe('weak-algorithm');
  });
});

test('a broken signature of the response is refused although that of the assertion holds', async () => {
  const xml = signedResponse(ours(), key, 'both');
  const broken = changed(xml, /(?<=<ds:SignatureValue>)..../, 'AAAA');
  expect(broken.indexOf('AAAA')).toBeLessThan(broken.indexOf('<saml:Assertion'));
  expect(await outcome(broken)).toBe('signature');
});

test('a broken signature of the assertion is refused although that of the response holds', async () => {
  const of = ours();
  const assertion = changed(
    sign(assertionXml(of), { key, what: 'Assertion' }),
    /(?<=<ds:SignatureValue>)..../,
    'AAAA',
  );
  const xml = sign(responseXml(of, assertion), { key, what: 'Response' });
  expect(await outcome(xml)).toBe('signature');
});

/** Somayovsky et al. 2012, as SAML Raider numbers them; E is evil, O the original, S its signature. */
describe('signature wrapping', () => {
  const evilOf = (assertion: string): string =>
    changed(changed(assertion, '>u-4711<', '>admin<'), /ID="_[^"]*a"/, 'ID="_evil"');
  const parts = (mode: SigningMode) => {
    const xml = signedResponse(ours(), key, mode);
    const signature = part(xml, SIGNATURE);
    const assertion = part(xml, ASSERTION);
    return { xml, signature, assertion, bare: assertion.replace(SIGNATURE, '') };
  };
  const wrapped = (xml: string, content: string): string => changed(xml, ASSERTION, content);
  const evilResponse = (xml: string): string =>
    changed(changed(xml.replace(SIGNATURE, ''), '>u-4711<', '>admin<'), /ID="_[^"]*r"/, 'ID="_e"');

  const cases: [string, () => string][] = [
    [
      '1: the original response inside of the signature of an evil one',
      () => {
        const { xml, signature } = parts('response');
        const original = xml.replace(SIGNATURE, '');
        const holding = changed(signature, '</ds:Signature>', `${original}</ds:Signature>`);
        return changed(evilResponse(xml), '</saml:Issuer>', `</saml:Issuer>${holding}`);
      },
    ],
    [
      '2: the original response before a detached signature',
      () => {
        const { xml, signature } = parts('response');
        const original = xml.replace(SIGNATURE, '');
        return changed(
          evilResponse(xml),
          '<samlp:Status>',
          `${original}${signature}<samlp:Status>`,
        );
      },
    ],
    [
      '3: an evil assertion before the original',
      () => {
        const { xml, assertion, bare } = parts('assertion');
        return wrapped(xml, evilOf(bare) + assertion);
      },
    ],
    [
      '4: the original inside of an evil assertion',
      () => {
        const { xml, assertion, bare } = parts('assertion');
        return wrapped(
          xml,
          changed(evilOf(bare), '</saml:Assertion>', `${assertion}</saml:Assertion>`),
        );
      },
    ],
    [
      '5: the signature in an evil assertion, the original behind it',
      () => {
        const { xml, signature, bare } = parts('assertion');
        return wrapped(
          xml,
          changed(evilOf(bare), '</saml:Issuer>', `</saml:Issuer>${signature}`) + bare,
        );
      },
    ],
    [
      '6: the original inside of the signature of an evil assertion',
      () => {
        const { xml, signature, bare } = parts('assertion');
        const holding = changed(signature, '</ds:Signature>', `${bare}</ds:Signature>`);
        return wrapped(xml, changed(evilOf(bare), '</saml:Issuer>', `</saml:Issuer>${holding}`));
      },
    ],
    [
      '7: an evil assertion in extensions',
      () => {
        const { xml, assertion, bare } = parts('assertion');
        return wrapped(xml, `<samlp:Extensions>${evilOf(bare)}</samlp:Extensions>${assertion}`);
      },
    ],
    [
      '8: the original in an object of the signature',
      () => {
        const { xml, signature, bare } = parts('assertion');
        const object = `<ds:Object>${bare}</ds:Object></ds:Signature>`;
        const holding = changed(signature, '</ds:Signature>', object);
        return wrapped(xml, changed(evilOf(bare), '</saml:Issuer>', `</saml:Issuer>${holding}`));
      },
    ],
    [
      '5 with the id of the original',
      () => {
        const { xml, signature, bare } = parts('assertion');
        const evil = changed(bare, '>u-4711<', '>admin<');
        return wrapped(xml, changed(evil, '</saml:Issuer>', `</saml:Issuer>${signature}`) + bare);
      },
    ],
    [
      'an evil assertion with the signature of the response',
      () => {
        const { xml, signature, bare } = parts('response');
        const moved = changed(evilOf(bare), '</saml:Issuer>', `</saml:Issuer>${signature}`);
        return wrapped(xml.replace(SIGNATURE, ''), moved);
      },
    ],
    [
      'an original that is called something else',
      () => {
        const { xml, signature, bare } = parts('assertion');
        const hidden = bare.replaceAll('saml:Assertion', 'saml:Statement');
        return wrapped(
          xml,
          changed(evilOf(bare), '</saml:Issuer>', `</saml:Issuer>${signature}`) + hidden,
        );
      },
    ],
  ];

  test.each(cases)('%s', async (_, make) => {
    expect(await outcome(make())).toMatch(
      /^(assertion-count|misplaced-signature|duplicate-id|no-status|signature|signature-shape|unsigned)$/,
    );
  });
});

describe('documents that cost their readers much', () => {
  const within = (inner: string): string => responseXml(ours(), inner);
  test.each([
    ['8,000 siblings', () => within('<a/>'.repeat(8000)), 'too-large'],
    ['100,000 siblings', () => within('<a/>'.repeat(100_000)), 'too-large'],
    ['4,900 cousins', () => within(`<b>${'<a/>'.repeat(900)}</b>`.repeat(5)), 'too-large'],
    ['5,000 levels', () => within('<a>'.repeat(4900) + '</a>'.repeat(4900)), 'too-large'],
    [
      '50,000 attributes',
      () => within(`<a ${Array.from({ length: 20_000 }, (_, at) => `a${at}=""`).join(' ')}/>`),
      'too-large',
    ],
    [
      'namespaces at every level',
      () =>
        within(
          Array.from({ length: 4000 }, (_, at) => `<a xmlns:n${at}="u">`).join('') +
            '</a>'.repeat(4000),
        ),
      'too-large',
    ],
    ['a long text', () => within(`<a>${'x'.repeat(300_000)}</a>`), 'too-large'],
    [
      'laughter',
      () =>
        `<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>${within('<a>&b;</a>')}`,
      'has-dtd',
    ],
    [
      'a document type elsewhere',
      () => `<!DOCTYPE r SYSTEM "https://evil.example.com/x.dtd">${within('')}`,
      'has-dtd',
    ],
    ['2,000 transforms', () => within('<ds:Transform/>'.repeat(2001)), /too-large|no-xml/],
  ])('%s', async (_, make, reason) => {
    const before = process.cpuUsage();
    const found = await outcome(make());
    const { user, system } = process.cpuUsage(before);
    expect(found).toMatch(reason);
    // Twenty times what it takes on a small machine; quadratic readers took minutes.
    expect((user + system) / 1000).toBeLessThan(4000);
  });

  test.each([
    ['no base64', '%%%'],
    ['base64 that stops', 'PGE+='],
    ['nothing', ''],
    ['no UTF-8', Buffer.from([0x3c, 0xff, 0xfe]).toString('base64')],
    ['UTF-16', Buffer.from('<a/>', 'utf16le').toString('base64')],
    ['a NUL', Buffer.from('<a>\0</a>').toString('base64')],
  ])('%s is refused before it is parsed', (_, encoded) => {
    expect(() => responseText(encoded)).toThrow(Refusal);
  });
});

test('unsigned means everything but the signature is checked', async () => {
  const read = async (of: Partial<Said>): Promise<string> => {
    const answer = await readResponse({
      text: responseText(Buffer.from(responseXml(ours(of))).toString('base64')),
      expected: expected(),
      certificates: [],
      trust: 'unsigned',
    });
    return 'facts' in answer ? `is ${answer.facts.nameId}` : answer.refused.reason;
  };
  expect(await read({})).toBe('is u-4711');
  expect(await read({ audiences: ['x'] })).toBe('audience');
  expect(await read({ confirmedRequest: '_other' })).toBe('in-response-to');
  expect(await read({ notOnOrAfter: Date.now() - 31_000 })).toBe('expired');
  expect(await read({ issuer: 'https://evil.example.com/' })).toBe('issuer');
});
