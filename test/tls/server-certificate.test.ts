import { execFile, execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ensureServerCertificate,
  namesOf,
  type ServerCertificate,
} from '../../src/tls/server-certificate.ts';

const run = promisify(execFile);
const DAY = 86_400_000;

let directory: string;
let now: number;

beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'gitplane-tls-')), 'tls');
  now = Date.now();
});

afterEach(async () => {
  await rm(join(directory, '..'), { recursive: true });
});

function ensure(...hostnames: string[]): Promise<ServerCertificate> {
  return ensureServerCertificate({ directory, hostnames, clock: { now: () => now } });
}

function has(command: string): boolean {
  try {
    execFileSync(command, ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What a client that trusts `ca` thinks of a server with the certificate. */
async function shake(server: ServerCertificate, ca: string, servername: string): Promise<string> {
  const listener = createServer({ key: server.keyPem, cert: server.certificatePem });
  listener.on('tlsClientError', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, ca, servername });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized ? 'trusted' : String(socket.authorizationError);
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    socket.destroy();
    listener.close();
    await once(listener, 'close');
  }
}

describe('the certificate of the first start', () => {
  test('an authority and a certificate are made, keys for their owner only', async () => {
    const made = await ensure();
    expect(made.renewed).toBe(true);
    const modes = await Promise.all(
      (await readdir(directory)).sort().map(async (name) => {
        return [name, ((await stat(join(directory, name))).mode & 0o777).toString(8)];
      }),
    );
    expect(Object.fromEntries(modes)).toEqual({
      'ca.crt': '644',
      'ca.key': '600',
      'server.crt': '644',
      'server.key': '600',
    });
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(directory, 'ca.crt'), 'utf8')).toBe(made.caPem);
    expect(await readFile(join(directory, 'server.crt'), 'utf8')).toBe(made.certificatePem);
  });

  test('a TLS client that trusts the authority trusts the server, by its names only', async () => {
    const server = await ensure('gitplane.example.com');
    for (const name of ['localhost', 'gitplane.example.com']) {
      expect(await shake(server, server.caPem, name)).toBe('trusted');
    }
    expect(await shake(server, server.caPem, 'other.example.com')).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
  });

  test('a TLS client that trusts another authority does not', async () => {
    const server = await ensure();
    directory = join(directory, '..', 'other');
    const { caPem } = await ensure();
    expect(caPem).not.toBe(server.caPem);
    expect(await shake(server, caPem, 'localhost')).not.toBe('trusted');
  });

  test('the certificate is for the loopback, the host and the names given, in one spelling', async () => {
    const { certificatePem } = await ensure('A.Example.COM', '10.0.0.7', 'FE80:0:0::1', '0.0.0.0');
    expect(namesOf(certificatePem).sort()).toEqual(
      ['localhost', '127.0.0.1', '::1', hostname(), 'a.example.com', '10.0.0.7', 'fe80::1'].sort(),
    );
    const certificate = new X509Certificate(certificatePem);
    for (const ip of ['127.0.0.1', '::1', '10.0.0.7', 'fe80::1']) {
      expect(certificate.checkIP(ip)).toBeDefined();
    }
    expect(certificate.checkIP('0.0.0.0')).toBeUndefined();
  });

  test('the authority lives ten years, the certificate 397 days', async () => {
    const { caPem, certificatePem, expiresAt } = await ensure();
    const [ca, certificate] = [new X509Certificate(caPem), new X509Certificate(certificatePem)];
    const days = (end: string | number): number => (new Date(end).getTime() - now) / DAY;
    expect(days(ca.validTo)).toBeCloseTo(3650, 0);
    expect(days(certificate.validTo)).toBeCloseTo(397, 0);
    expect(days(expiresAt)).toBeLessThan(397);
    expect(new Date(certificate.validFrom).getTime()).toBeLessThan(now - 30 * 60_000);
    expect([ca.ca, certificate.ca]).toEqual([true, false]);
  });

  test.each([['not a host'], ['fe80::1%eth0'], ['a/b'], ['']])(
    'a name that is none (%j) is refused before any file is made',
    async (name) => {
      await expect(ensure(name)).rejects.toThrow(
        `${JSON.stringify(name)} cannot be in a certificate`,
      );
      await expect(readdir(directory)).rejects.toThrow('ENOENT');
    },
  );
});

test.runIf(has('openssl'))(
  'openssl accepts the chain for a server, and for no client',
  async () => {
    await ensure('gitplane.example.com');
    const [ca, server] = [join(directory, 'ca.crt'), join(directory, 'server.crt')];
    const strict = ['verify', '-x509_strict', '-CAfile', ca, '-purpose'];
    const name = ['-verify_hostname', 'gitplane.example.com'];
    const { stdout } = await run('openssl', [...strict, 'sslserver', ...name, server]);
    expect(stdout).toContain('OK');
    await expect(run('openssl', [...strict, 'sslclient', server])).rejects.toThrow();
    const other = ['-verify_hostname', 'other.example.com'];
    await expect(run('openssl', [...strict, 'sslserver', ...other, server])).rejects.toThrow();
  },
);

describe('the certificate of a later start', () => {
  test('everything is reused', async () => {
    const first = await ensure('a.example.com');
    now += 300 * DAY;
    expect(await ensure('a.example.com')).toEqual({ ...first, renewed: false });
  });

  test.each<[string, (first: ServerCertificate) => Promise<unknown> | unknown, string[]]>([
    ['is about to end', () => (now += 368 * DAY), ['a.example.com']],
    ['is long over', () => (now += 900 * DAY), ['a.example.com']],
    ['is for fewer names', () => undefined, ['a.example.com', 'b.example.com']],
    ['is for more names', () => undefined, []],
    ['is for other names', () => undefined, ['c.example.com']],
    ['is not there', () => rm(join(directory, 'server.crt')), ['a.example.com']],
    ['has no key', () => rm(join(directory, 'server.key')), ['a.example.com']],
    ['does not fit its key', () => mixUp('server.key'), ['a.example.com']],
    ['is from another authority', () => mixUp('ca.crt', 'ca.key'), ['a.example.com']],
  ])('a certificate that %s is created again', async (_claim, change, names) => {
    const first = await ensure('a.example.com');
    await change(first);
    const second = await ensure(...names);
    expect(second.renewed).toBe(true);
    expect(second.certificatePem).not.toBe(first.certificatePem);
    expect(second.keyPem).not.toBe(first.keyPem);
    expect(await ensure(...names)).toEqual({ ...second, renewed: false });
    expect(second.caPem).toBe(await readFile(join(directory, 'ca.crt'), 'utf8'));
  });

  test('a renewal keeps the authority, so that clients go on trusting the server', async () => {
    const first = await ensure();
    const second = await ensure('new.example.com');
    expect(second.caPem).toBe(first.caPem);
    expect(await shake(second, first.caPem, 'new.example.com')).toBe('trusted');
  });

  test('an authority that a crash left without certificate is completed with its key', async () => {
    const first = await ensure();
    await rm(join(directory, 'ca.crt'));
    const second = await ensure();
    expect(await readFile(join(directory, 'ca.key'), 'utf8')).toContain('PRIVATE KEY');
    expect(await shake(second, second.caPem, 'localhost')).toBe('trusted');
    expect(await shake(first, second.caPem, 'localhost')).toBe('trusted');
  });

  test('a certificate does not outlive its authority', async () => {
    await ensure();
    now += 3500 * DAY;
    const { expiresAt, caPem } = await ensure();
    expect(expiresAt).toBe(Date.parse(new X509Certificate(caPem).validTo));
  });

  /** Replaces files by those of another authority. */
  async function mixUp(...names: string[]): Promise<void> {
    const here = directory;
    directory = join(here, '..', 'other');
    await ensure('a.example.com');
    for (const name of names) {
      await writeFile(join(here, name), await readFile(join(directory, name)));
    }
    directory = here;
  }

  test.each<[string, string | undefined, string, string]>([
    ['ca.crt', 'garbage', 'is not a certificate (PEM)', 'get a new authority'],
    ['ca.crt', '', 'is not a certificate (PEM)', 'get a new authority'],
    ['ca.key', 'garbage', 'is not a private key on the curve P-256', 'get a new authority'],
    ['ca.key', undefined, 'is missing', 'get a new authority'],
    ['server.crt', 'garbage', 'is not a certificate (PEM)', 'remove it to get a new one'],
    ['server.key', 'garbage', 'is not a private key on the curve P-256', 'remove it to get a new'],
  ])('a damaged %s (%j) is one error that names it and the remedy', async (name, text, ...says) => {
    await ensure();
    const path = join(directory, name);
    if (text === undefined) await rm(path);
    else await writeFile(path, text);
    const before = await snapshot();
    const error = await ensure().catch((reason: unknown) => String(reason));
    for (const part of [path, ...says]) expect(error).toContain(part);
    expect(await snapshot()).toEqual(before);
  });

  test.each([
    ['ca.key', 'is not the key of'],
    ['ca.crt', 'is not the key of'],
  ])('%s of another authority is an error', async (name, says) => {
    await ensure();
    await mixUp(name);
    await expect(ensure()).rejects.toThrow(says);
  });

  test('a server certificate in place of that of the authority is an error', async () => {
    await ensure();
    for (const end of ['crt', 'key']) {
      const text = await readFile(join(directory, `server.${end}`));
      await writeFile(join(directory, `ca.${end}`), text);
    }
    await expect(ensure()).rejects.toThrow('is not the certificate of an authority');
  });

  test('an authority at its end is an error', async () => {
    await ensure();
    now += 3650 * DAY;
    await expect(ensure()).rejects.toThrow(/ca\.crt is at its end .* get a new authority/);
  });

  test('a file that cannot be read is named', async () => {
    await ensure();
    await rm(join(directory, 'ca.key'));
    await mkdir(join(directory, 'ca.key'));
    await expect(ensure()).rejects.toThrow(`cannot read ${join(directory, 'ca.key')}`);
  });

  async function snapshot(): Promise<[string, string][]> {
    const names = (await readdir(directory)).sort();
    return Promise.all(
      names.map(async (name): Promise<[string, string]> => {
        return [name, await readFile(join(directory, name), 'utf8')];
      }),
    );
  }
});
