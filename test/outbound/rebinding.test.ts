/** A name whose address changes between two look-ups, or that leads to a refused one: each client of the daemon. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, expect, test, vi } from 'vitest';
import { Transport } from '../../src/kubernetes-client/transport.ts';
import { HttpClient } from '../../src/outbound/http-client.ts';
import { httpTransport } from '../../src/secret-store-client/transport.ts';
import { providerHttp } from '../../src/sign-in/provider-http.ts';

/** Answers of the resolver, one after the other; the last one stays. */
const answers = vi.hoisted(() => ({ left: [] as string[] }));

vi.mock('node:dns', async (original) => {
  const dns = await original<typeof import('node:dns')>();
  const lookup = (_name: string, _options: object, done: (e: null, found: object[]) => void) => {
    const [address = ''] = answers.left.length > 1 ? answers.left.splice(0, 1) : answers.left;
    done(null, [{ address, family: 4 }]);
  };
  return { ...dns, lookup };
});

const received: string[] = [];
const server = createServer((request, response) => {
  received.push(request.url ?? '');
  response.end('{}');
});

beforeEach(async () => {
  received.length = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return () => {
    server.closeAllConnections();
    server.close();
  };
});

const CLIENTS: Record<string, (origin: string) => Promise<unknown>> = {
  connector: async (origin) => {
    const http = providerHttp();
    return await http.fetch(`${origin}/x`).finally(() => http.close());
  },
  'secret store': async (origin) => {
    const transport = httpTransport({ address: origin });
    const sent = transport.send({ method: 'GET', path: '/x', headers: {} });
    return await sent.finally(() => transport.close());
  },
  'forge, webhook or chat': async (origin) => {
    const http = new HttpClient();
    return await http.send({ method: 'GET', url: `${origin}/x` }).finally(() => http.close());
  },
  'cluster of a tenant': async (origin) => {
    const transport = new Transport({ server: origin });
    const sent = transport.json({ method: 'GET', path: '/x', deadlineMs: 5000 });
    return await sent.finally(() => transport.close());
  },
};

test.each(Object.entries(CLIENTS))(
  '%s: the address that was checked is connected to',
  async (_, ask) => {
    const { port } = server.address() as AddressInfo;
    const origin = `http://rebind.example:${port}`;
    answers.left = ['127.0.0.1', '169.254.169.254'];
    await ask(origin);
    expect(received).toEqual(['/x']);
    await expect(ask(origin)).rejects.toThrow(/rebind\.example is at 169\.254\.169\.254/);
    expect(received).toEqual(['/x']);
  },
);
