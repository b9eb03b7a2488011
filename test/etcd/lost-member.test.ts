/** Members that are there, and of no use: played here, as real ones come to their senses in seconds. */
import {
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import { Member } from '../../src/etcd/member.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { RANGE, TXN } from '../../src/etcd/wire.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
});

type Answer = (error: Partial<ServiceError> | null, value?: object) => void;

/** `read` answers what it can answer by itself; a transaction is answered by `txn`, or never. */
async function member(of: {
  read: (answer: Answer) => void;
  txn?: (answer: Answer) => void;
}): Promise<string> {
  const server = new Server();
  servers.push(server);
  server.addService(
    { range: RANGE, txn: TXN } as never,
    {
      range: (_call: unknown, answer: Answer) => of.read(answer),
      txn: (_call: unknown, answer: Answer) => of.txn?.(answer),
    } as never,
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return `127.0.0.1:${port}`;
}

const noLeader = (answer: Answer): void =>
  answer({ code: status.UNAVAILABLE, details: 'etcdserver: no leader' });
const empty = (answer: Answer): void => answer(null, { header: {}, kvs: [] });
const done = (answer: Answer): void => answer(null, { header: {}, succeeded: true, responses: [] });

describe.concurrent('a member of etcd', () => {
  test.each([
    ['that knows no leader', noLeader],
    ['that answers nothing at all', () => undefined],
  ])('%s is abandoned with its waiters, long before its own end', async (_, read) => {
    const one = new Member(await member({ read }), credentials.createInsecure());
    const asked = { metadata: new Metadata(), timeoutMs: 600_000 };
    const waiting = one.call(TXN, { compare: [], success: [], failure: [] }, asked);
    await expect(waiting).rejects.toMatchObject({ code: status.CANCELLED });
    one.close();
  });

  test.each([
    ['another cluster', { cluster_id: '2', revision: '9' }, 'is another cluster than before'],
    [
      'an earlier time',
      { cluster_id: '1', revision: '4' },
      'is at revision 4, and was at 5 before',
    ],
  ])('an etcd member of %s is refused, and reported once', async (_, later, words) => {
    let header = { cluster_id: '1', revision: '5' };
    const told: string[] = [];
    const one = await member({ read: (answer) => answer(null, { header, kvs: [] }) });
    const etcd = await openEtcd({ endpoints: [one], onReplaced: (reason) => told.push(reason) });
    await etcd.range({ key: 'a' });
    header = later;

    for (let i = 0; i < 2; i++) await expect(etcd.range({ key: 'a' })).rejects.toThrow(words);

    expect(told).toEqual([expect.stringContaining(words)]);
    await etcd.close();
  });

  test('an etcd member that answers late is waited for', async () => {
    const slow = await member({
      read: empty,
      txn: (answer) => void setTimeout(done, 4_000, answer),
    });
    const etcd = await openEtcd({ endpoints: [slow], timeoutMs: 600_000 });
    expect((await etcd.txn({ compare: [], operations: [] })).succeeded).toBe(true);
    await etcd.close();
  });
});
