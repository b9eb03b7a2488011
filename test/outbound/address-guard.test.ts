/** Addresses that no request of the daemon goes to, by every client that it has. */
import type { LookupAddress, lookup } from 'node:dns';
import { afterEach, describe, expect, test } from 'vitest';
import { Transport } from '../../src/kubernetes-client/transport.ts';
import {
  allowAddresses,
  guarded,
  isLoopback,
  isSubnet,
  refuseAddress,
  refuseLoopback,
} from '../../src/outbound/address-guard.ts';
import { httpTransport } from '../../src/secret-store-client/transport.ts';
import { providerHttp } from '../../src/sign-in/provider-http.ts';

const REFUSED = [
  'http://169.254.169.254',
  'http://169.254.0.1',
  'http://2852039166',
  'http://0251.0376.0251.0376',
  'http://0xa9fea9fe',
  'http://169.254.43518',
  'http://169.254.169.254.',
  'http://①⑥⑨.254.169.254',
  'http://[::ffff:169.254.169.254]',
  'http://[::ffff:a9fe:a9fe]',
  'http://[::169.254.169.254]',
  'http://[64:ff9b::169.254.169.254]',
  'http://[2002:a9fe:a9fe::1]',
  'http://[fe80::1]',
  'http://[febf::1]',
  'http://[fd00:ec2::254]',
  'http://[fd20:ce::254]',
  'http://100.100.100.200',
  'http://168.63.129.16',
  'http://192.0.0.192',
  'http://[fd00:ec2::23]',
  'http://[fd00:c1::a9fe:a9fe]',
  'http://[fd00:42::42]',
  'http://[64:ff9b:1::169.254.169.254]',
  'http://[::ffff:0:169.254.169.254]',
  'http://[64:ff9b::100.100.100.200]',
  'http://[64:ff9b:1::168.63.129.16]',
  'http://[2002:6464:64c8::1]',
  'http://[fec0::1]',
  'http://[feff::1]',
  'http://[2001:0:a9fe:a9fe::5601:5601]',
];
const ALLOWED = ['http://127.0.0.1', 'http://10.0.0.1', 'http://[::1]', 'http://[fd00::1]'];

afterEach(() => allowAddresses([]));

describe.each(REFUSED)('%s', (url) => {
  test('is refused by its address', () => {
    expect(() => refuseAddress(new URL(url).hostname)).toThrow(/metadata service/);
  });

  test('is refused to connectors', async () => {
    const http = providerHttp();
    await expect(http.fetch(`${url}/latest`)).rejects.toMatchObject({ reason: 'address-refused' });
    await http.close();
  });

  test('is refused as a secret store', async () => {
    const transport = httpTransport({ address: url });
    const sent = transport.send({ method: 'GET', path: '/v1/a', headers: {} });
    await expect(sent).rejects.toMatchObject({
      message: expect.stringContaining('metadata service'),
      mayHaveHappened: false,
    });
    transport.close();
  });

  test('is refused as the cluster of a tenant', async () => {
    const transport = new Transport({ server: url });
    const sent = transport.json({ method: 'GET', path: '/api', deadlineMs: 1000 });
    await expect(sent).rejects.toThrow(/metadata service/);
    transport.close();
  });
});

test.each(ALLOWED)('%s is not refused', (url) => {
  expect(() => refuseAddress(new URL(url).hostname)).not.toThrow();
});

/** A resolver that answers as it is told. */
function resolving(...addresses: string[]): typeof lookup {
  const found = addresses.map(
    (address): LookupAddress => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }),
  );
  return ((_name: string, _options: object, callback: (error: null, all: unknown) => void) =>
    callback(null, found)) as unknown as typeof lookup;
}

function looked(all: boolean, ...addresses: string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    guarded(resolving(...addresses))('a.example', { all }, (error, address) =>
      error === null ? resolve(address) : reject(error),
    );
  });
}

describe.each([true, false])('a name, resolved with all: %s', (all) => {
  test('is refused when any of its addresses is', async () => {
    const looks = looked(all, '192.0.2.1', '::ffff:169.254.169.254');
    await expect(looks).rejects.toThrow(/^a\.example is at ::ffff:169\.254\.169\.254/);
  });

  test('is looked up otherwise', async () => {
    const found = await looked(all, '192.0.2.1', '2001:db8::1');
    expect(found).toEqual(
      all
        ? [
            { address: '192.0.2.1', family: 4 },
            { address: '2001:db8::1', family: 6 },
          ]
        : '192.0.2.1',
    );
  });
});

test('the operator can allow addresses and subnets, which replace those before', () => {
  allowAddresses(['169.254.1.0/24', 'fe80::1']);
  for (const host of ['169.254.1.7', '[fe80::1]', '[::ffff:169.254.1.7]']) refuseAddress(host);
  expect(() => refuseAddress('169.254.2.1')).toThrow();
  expect(() => refuseAddress('fe80::2')).toThrow();
  allowAddresses([]);
  expect(() => refuseAddress('169.254.1.7')).toThrow();
});

test.each([
  ['169.254.1.0/24', true],
  ['fe80::/10', true],
  ['169.254.1.7', true],
  ['', false],
  ['a.example', false],
  ['169.254.0.0/33', false],
  ['169.254.0.0/', false],
  ['169.254.0.0/8/8', false],
  ['1.2.3/8', false],
  ['fe80::/x', false],
  ['::/129', false],
])('%j is a subnet: %s', (text, is) => {
  expect(isSubnet(text)).toBe(is);
});

describe('the loopback, to hosts that a discovery document names', () => {
  const HERE = [
    'https://0.0.0.0',
    'https://0',
    'https://127.0.0.1',
    'https://127.8.9.10',
    'https://2130706433',
    'https://localhost',
    'https://LOCALHOST.',
    'https://idp.localhost',
    'https://[::]',
    'https://[::1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:0.0.0.0]',
    'https://[64:ff9b::127.0.0.1]',
  ];
  const ELSEWHERE = ['https://idp.example', 'https://10.0.0.1', 'https://localhost.example'];

  test.each(HERE)('%s is on it', async (url) => {
    expect(isLoopback(new URL(url).hostname)).toBe(true);
    expect(() => refuseLoopback(new URL(url).hostname)).toThrow(/on the loopback/);
    const http = providerHttp({ issuer: 'https://idp.example' });
    await expect(http.fetch(`${url}/token`)).rejects.toMatchObject({ reason: 'address-refused' });
    await http.close();
  });

  test.each(ELSEWHERE)('%s is not', (url) => {
    expect(isLoopback(new URL(url).hostname)).toBe(false);
    expect(() => refuseLoopback(new URL(url).hostname)).not.toThrow();
  });

  test.each(['127.0.0.1', '0.0.0.0', '::1'])(
    'a name at %s is refused once it is resolved',
    (at) => {
      const resolve = ((_name: string, _options: object, done: (...all: unknown[]) => void) =>
        done(null, [
          { address: at, family: at.includes(':') ? 6 : 4 },
        ])) as unknown as typeof lookup;
      const outcome = (of: ReturnType<typeof guarded>): unknown => {
        let error: unknown;
        of('token.idp.example', {}, (failure) => {
          error = failure;
        });
        return error;
      };

      expect(String(outcome(guarded(resolve, { refusesLoopback: true })))).toMatch(
        `token.idp.example is at ${at}, which is on the loopback`,
      );
      expect(outcome(guarded(resolve))).toBeNull();
      allowAddresses([at]);
      expect(outcome(guarded(resolve, { refusesLoopback: true }))).toBeNull();
    },
  );

  test('an issuer there, and hosts that the operator gave, are reached', async () => {
    for (const issuer of ['http://127.0.0.1:1', undefined]) {
      const http = providerHttp({ issuer });
      await expect(http.fetch('http://127.0.0.1:1/token')).rejects.toMatchObject({
        reason: 'provider-unreachable',
      });
      await http.close();
    }
  });
});
