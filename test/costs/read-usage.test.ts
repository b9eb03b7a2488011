/** Nodes and pods of a cluster, read within limits. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readUsage } from '../../src/costs/read-usage.ts';
import { ClusterOfPods, podOf } from '../support/cluster-of-pods.ts';

let cluster: ClusterOfPods;
const LIMITS = { ms: 20_000, items: 250, bytes: 1_000_000, page: 100 };

beforeEach(async () => {
  cluster = await ClusterOfPods.start();
});
afterEach(() => cluster.stop());

function pods(count: number): object[] {
  return Array.from({ length: count }, (_, i) => podOf(`p${i}`, { cpu: '10m', memory: '1Mi' }));
}

test('pages add up', async () => {
  cluster.pods = pods(250);
  const usage = await readUsage({ server: cluster.url }, LIMITS);

  expect(usage).toMatchObject({ nodes: 1, pods: 250, cpu: { capacity: 4 } });
  expect(usage.cpu.requested).toBeCloseTo(2.5);
  expect(cluster.requests).toEqual([
    'GET /api/v1/nodes',
    ...Array.from({ length: 3 }, () => 'GET /api/v1/pods'),
  ]);
});

test('a cluster with more objects than the limit has no sum', async () => {
  cluster.pods = pods(251);

  await expect(readUsage({ server: cluster.url }, LIMITS)).rejects.toThrow(
    'there are more than 250 pods',
  );
});

test('answers with more bytes together than the limit end', async () => {
  cluster.pods = pods(250);
  const limits = { ...LIMITS, bytes: 30_000 };

  await expect(readUsage({ server: cluster.url }, limits)).rejects.toThrow(
    'more bytes than the limit',
  );
  expect(cluster.requests.length).toBeLessThan(4);
});

test('an endless continue token ends at the limit of objects', async () => {
  cluster.judge = (path, response) => {
    if (path !== '/api/v1/pods') return false;
    response.end(JSON.stringify({ metadata: { continue: 'again' }, items: pods(100) }));
    return true;
  };

  await expect(readUsage({ server: cluster.url }, LIMITS)).rejects.toThrow('more than 250 pods');
});

test('empty pages without an end are ended by a limit', async () => {
  cluster.judge = (path, response) => {
    if (path !== '/api/v1/pods') return false;
    response.end(JSON.stringify({ metadata: { continue: 'again' }, items: [] }));
    return true;
  };

  await expect(readUsage({ server: cluster.url }, { ...LIMITS, ms: 300 })).rejects.toThrow(
    /no complete answer within 0.3 s|more bytes than the limit|there are more than/,
  );
});

test.each([
  ['no answer', () => true],
  [
    'half an answer',
    (_path: string, response: { write(text: string): unknown }) => {
      response.write('{"items": [');
      return true;
    },
  ],
])('%s is ended by the time limit', async (_title, judge) => {
  cluster.judge = judge;

  await expect(readUsage({ server: cluster.url }, { ...LIMITS, ms: 200 })).rejects.toThrow(
    'no complete answer within 0.2 s',
  );
});

test('a refusal has the message of the server', async () => {
  cluster.judge = (_path, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'no nodes for u' }),
    );
    return true;
  };

  await expect(readUsage({ server: cluster.url }, LIMITS)).rejects.toThrow('no nodes for u');
});

test.each([['not JSON'], ['[]'], ['{"items": [null, 1, {"spec": 3}]}'], ['null']])(
  'the answer %s adds no pod',
  async (body) => {
    cluster.judge = (path, response) => {
      if (path === '/api/v1/pods') response.end(body);
      return path === '/api/v1/pods';
    };
    const usage = await readUsage({ server: cluster.url }, LIMITS).catch(() => undefined);

    expect(usage?.pods ?? 0).toBe(0);
  },
);
