/** Requests to a server that answers as the API server of Kubernetes does. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { KubeClient } from '../../src/kubernetes-client/kube-client.ts';

async function clientOf(answers: Readonly<Record<string, object>>): Promise<KubeClient> {
  const server: Server = createServer((request, response) => {
    const next = new URL(request.url ?? '', 'http://server').searchParams.get('continue') ?? '';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[next]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new KubeClient({ server: `http://127.0.0.1:${port}` });
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return client;
}

function page(names: readonly string[], metadata: object): object {
  const items = names.map((name) => ({ metadata: { name } }));
  return { apiVersion: 'v1', kind: 'EndpointsList', metadata, items };
}

test('items of a list say what they are, though the server says it only once a page', async () => {
  const client = await clientOf({
    '': page(['a', 'b'], { resourceVersion: '7', continue: 'more' }),
    more: page(['c'], { resourceVersion: '7' }),
  });

  const { items, resourceVersion } = await client.list({ plural: 'endpoints' });

  expect(resourceVersion).toBe('7');
  expect(items).toEqual(
    ['a', 'b', 'c'].map((name) => ({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name } })),
  );
});

test('items that say what they are are believed', async () => {
  const metadata = { name: 'a' };
  const client = await clientOf({
    '': {
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: '7' },
      items: [{ apiVersion: 'v1', kind: 'Service', metadata }],
    },
  });

  const { items } = await client.list({ plural: 'services' });

  expect(items).toEqual([{ apiVersion: 'v1', kind: 'Service', metadata }]);
});

test('a page without items, which a server has filtered out, is not the end of a list', async () => {
  const client = await clientOf({
    '': page([], { resourceVersion: '7', continue: 'more' }),
    more: page(['a'], { resourceVersion: '7' }),
  });

  const { items } = await client.list({ plural: 'endpoints' });

  expect(items.map(({ metadata }) => metadata.name)).toEqual(['a']);
});

test('a list whose pages have no end is given up', async () => {
  const more = { resourceVersion: '7', continue: 'more' };
  const empty = await clientOf({ '': page([], more), more: page([], more) });
  await expect(empty.list({ plural: 'endpoints' })).rejects.toThrow('more than 100000 endpoints');

  const names = Array.from({ length: 20_000 }, (_, at) => String(at));
  const full = await clientOf({ '': page(names, more), more: page(names, more) });
  await expect(full.list({ plural: 'endpoints' })).rejects.toThrow('more than 100000 endpoints');
});

test('a reason, a message and a delay of any size are cut', async () => {
  const server = createServer((_request, response) => {
    const text = 'm'.repeat(100_000);
    response.writeHead(500, { 'retry-after': '9999999' });
    response.end(JSON.stringify({ reason: text, message: text }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new KubeClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const text = 'm'.repeat(1024);
  await expect(client.list({ plural: 'endpoints' })).rejects.toMatchObject({
    reason: text,
    message: text,
    retryAfterSeconds: 3600,
  });
});

/** Objects of `bytes` bytes each, in pages as large as the client requests. */
async function clusterOf(objects: readonly string[]): Promise<{ url: string; sizes: string[] }> {
  const sizes: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://server').searchParams;
    const [size, from] = [query.get('limit') ?? '', Number(query.get('continue') ?? 0)];
    sizes.push(size);
    const end = from + Number(size);
    const more = end < objects.length ? String(end) : '';
    const metadata = JSON.stringify({ resourceVersion: '7', continue: more });
    response.end(`{"metadata":${metadata},"items":[${objects.slice(from, end).join()}]}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sizes };
}

function clientAt(url: string): KubeClient {
  const client = new KubeClient({ server: url });
  onTestFinished(() => client.close());
  return client;
}

const MIB = 1024 * 1024;

test('a page that is too large is requested in smaller ones', async () => {
  const pad = 'x'.repeat(MIB);
  const objects = Array.from(
    { length: 20 },
    (_, at) => `{"metadata":{"name":"${at}"},"x":"${pad}"}`,
  );
  const { url, sizes } = await clusterOf(objects);

  const { items } = await clientAt(url).list({ plural: 'endpoints' });

  expect(items.map(({ metadata }) => metadata.name)).toEqual(objects.map((_, at) => String(at)));
  expect(sizes.slice(0, 4)).toEqual(['500', '50', '5', '5']);
});

test('a page that was too large takes nothing of what the list may have', async () => {
  const pad = 'x'.repeat(3 * MIB);
  const objects = ['a', 'b', 'c'].map((name) => `{"metadata":{"name":"${name}"},"x":"${pad}"}`);
  const { url, sizes } = await clusterOf(objects);
  const limits = { items: 10, bytes: 10 * MIB, page: 10 };

  const names: unknown[] = [];
  for await (const { items } of clientAt(url).pages({ plural: 'endpoints' }, { limits })) {
    names.push(...items.map(({ metadata }) => metadata.name));
  }

  expect(names).toEqual(['a', 'b', 'c']);
  expect(sizes).toEqual(['10', '1', '1', '1']);
});

test('a list of values that take more memory than their text is given up', async () => {
  const lists = `{"metadata":{"name":"a"},"subsets":[${'[],'.repeat(1_000_000)}[]]}`;
  const one = clientAt((await clusterOf([lists])).url);
  await expect(one.list({ plural: 'endpoints' })).rejects.toThrow('more than 1000000 values');

  const object = `{"metadata":{"name":"a"},"subsets":[${'[],'.repeat(450_000)}[]]}`;
  const many = clientAt((await clusterOf(Array.from({ length: 9 }, () => object))).url);
  await expect(many.list({ plural: 'endpoints' })).rejects.toThrow('more values than the limit');
});
