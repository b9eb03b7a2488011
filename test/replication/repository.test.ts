import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Etcd, TxnRequest, TxnResponse } from '../../src/etcd/etcd.ts';
import { EtcdError } from '../../src/etcd/etcd-error.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { HeadMovedError } from '../../src/git/repository.ts';
import { campaign, type LeaderTerm } from '../../src/replication/election.ts';
import { keysBelow, sequenceKey } from '../../src/replication/keys.ts';
import { LedRepository } from '../../src/replication/led-repository.ts';
import { LOST_REFS, Mirror } from '../../src/replication/mirror.ts';
import { endOf, RepositoryLog } from '../../src/replication/repository-log.ts';
import { TermEndedError } from '../../src/replication/term.ts';
import { trimLog } from '../../src/replication/trim.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';

const logger = createLogger('silent');
const codec = sealingCodec(Buffer.alloc(32, 7), () => true);
const REF = 'refs/heads/main';
const WHO = { name: 'A', email: 'a@example.org' };
const LONG = { timeout: 20_000, interval: 20 };

interface Disk {
  readonly gitDir: string;
  git(...args: string[]): string;
}

interface Led {
  readonly term: LeaderTerm;
  readonly log: RepositoryLog;
  readonly mirror: Mirror;
  readonly led: LedRepository;
  readonly repository: BareRepository;
}

const title = `the shared repository ${ETCD_MISSING ?? ''}`;

// Some wait for seconds; each has keys and disks of its own.
describe.skipIf(ETCD_MISSING !== undefined)(title, { concurrent: true }, () => {
  let cluster: EtcdCluster;
  let etcd: Etcd;
  let folder: string;
  let count = 0;
  const open: { close(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gitplane-shared-'));
    cluster = await startEtcd({ noFsync: true });
    etcd = await openEtcd({ endpoints: cluster.endpoints });
  });

  afterAll(async () => {
    for (const one of open.reverse()) await one.close();
    await etcd.close();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Keys of its own for every test. */
  function platform(): ReturnType<typeof keysBelow> {
    return keysBelow(`/t${count++}/`);
  }

  async function disk(): Promise<Disk> {
    const gitDir = join(folder, `r${count++}.git`);
    await initRepository({ gitDir, branch: 'main' });
    mkdirSync(join(gitDir, 'gitplane'));
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', gitDir, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
    return { gitDir, git };
  }

  function mirrorOf(keys: ReturnType<typeof keysBelow>, { gitDir }: Disk, from?: Disk): Mirror {
    const fetch = async (): Promise<string> => {
      if (from === undefined) throw new Error('nobody to fetch from');
      execFileSync('git', ['-C', gitDir, 'fetch', '-q', from.gitDir, REF]);
      return from.git('rev-parse', REF);
    };
    const parts = { etcd, keys, codec, gitDir, ref: REF, logger, onMirrored: () => undefined };
    return new Mirror({ ...parts, fetch });
  }

  async function elect(keys: ReturnType<typeof keysBelow>): Promise<LeaderTerm> {
    const lease = await etcd.grant(60);
    open.push({ close: () => lease.revoke() });
    const data = { id: 'a', peer: '', url: '', version: '', ready: true };
    const term = await campaign({ etcd, key: keys.leader, lease, data });
    if (term === undefined) throw new Error('somebody else leads');
    return term;
  }

  async function lead(
    keys: ReturnType<typeof keysBelow>,
    on: Disk,
    of: { client?: Etcd; term?: LeaderTerm } = {},
  ): Promise<Led> {
    const { gitDir } = on;
    const { client = etcd, term = await elect(keys) } = of;
    const log = await RepositoryLog.open({ etcd: client, keys, codec, term, logger });
    const mirror = mirrorOf(keys, on);
    await mirror.catchUp();
    const onStuck = (): void => undefined;
    const led = new LedRepository({
      log,
      mirror,
      gitDir,
      ref: REF,
      logger,
      onStuck,
      timeoutMs: 500,
    });
    const [agree, resolveHead] = [led, led.settle.bind(led)];
    const where = { gitDir, branch: 'main', segmentBytes: 1024 * 1024 };
    const repository = await openRepository({ ...where, agree, resolveHead });
    open.push(repository);
    return { term, log, mirror, led, repository };
  }

  async function commit(repository: BareRepository, text = `v${count++}`): Promise<string> {
    const batch = repository.begin(await repository.head());
    const changes = [{ path: 'f', content: Buffer.from(text) }];
    const by = { author: WHO, committer: WHO, time: 1_700_000_000, message: 'm' };
    const { id } = await batch.add({ changes, ...by });
    await batch.publish();
    return id;
  }

  function records(keys: ReturnType<typeof keysBelow>): Promise<string[]> {
    return etcd
      .range({ key: keys.log, prefix: true, keysOnly: true })
      .then(({ kvs }) => kvs.map(({ key }) => key));
  }

  /** A commit made by hand on top of another. */
  function byHand({ git }: Disk, parent: string, text: string): string {
    const tree = git('rev-parse', `${parent}^{tree}`);
    const as = ['-c', 'user.name=H', '-c', 'user.email=h@example.org'];
    return git(...as, 'commit-tree', tree, '-p', parent, '-m', text);
  }

  function whole({ git }: Disk): void {
    expect(git('fsck', '--full', '--strict', '--no-dangling')).toBe('');
  }

  test('commits of the leader are on the disks of the others, object for object', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const mirror = mirrorOf(keys, other);
    for (let n = 0; n < 5; n++) await commit(repository);
    await mirror.catchUp();
    const last = await commit(repository, 'x'.repeat(5_000));

    const head = await mirror.catchUp();

    expect(head?.commit).toBe(last);
    expect(other.git('rev-parse', REF)).toBe(last);
    expect(other.git('rev-list', '--count', REF)).toBe('6');
    whole(other);
    whole(one);
  });

  test('a mirror follows by itself, and stops on request', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const mirror = mirrorOf(keys, other);
    mirror.follow();
    const first = await commit(repository);
    await vi.waitFor(() => expect(other.git('rev-parse', REF)).toBe(first), LONG);

    await mirror.stop();
    const second = await commit(repository);
    await mirror.catchUp();

    expect(other.git('rev-parse', REF)).toBe(second);
  });

  test('nothing of a commit can be read in etcd', async () => {
    const keys = platform();
    const { repository } = await lead(keys, await disk());
    await commit(repository, 'the-secret-of-the-platform');

    const { kvs } = await etcd.range({ key: keys.packs, prefix: true });

    expect(kvs.length).toBeGreaterThan(0);
    expect(kvs.every(({ value }) => !value.includes('PACK'))).toBe(true);
    expect(kvs.every(({ value }) => !value.includes('the-secret'))).toBe(true);
  });

  test('a commit too large for a transaction goes in parts, and is whole or not there', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const noise = Array.from({ length: 60_000 }, (_, n) => `${n * 2654435761}`).join(' ');
    const id = await commit(repository, noise + noise.split('').reverse().join(''));

    const { count: parts } = await etcd.range({ key: keys.packs, prefix: true, keysOnly: true });
    await mirrorOf(keys, other).catchUp();

    expect(parts).toBeGreaterThan(1);
    expect(other.git('rev-parse', REF)).toBe(id);
    whole(other);
  });

  test('a leader whose term is over moves nothing, in etcd or on its disk', async () => {
    const keys = platform();
    const one = await disk();
    const old = await lead(keys, one);
    const first = await commit(old.repository);
    await cluster.ctl(['del', keys.leader]);
    const term = await elect(keys);

    await expect(commit(old.repository)).rejects.toThrow(TermEndedError);

    expect(one.git('rev-parse', REF)).toBe(first);
    const next = await lead(keys, await disk(), { term });
    expect(next.log.head?.commit).toBe(first);
  });

  test.each(['happened', 'did not happen'])(
    'a transaction without an answer that %s counts once',
    async (which) => {
      const keys = platform();
      const one = await disk();
      let doubts = 0;
      const client = doubtful(etcd, async (request) => {
        if (!writes(request, keys.head) || doubts++ > 0) return await etcd.txn(request);
        if (which === 'happened') await etcd.txn(request);
        throw new EtcdError('nobody answered', { unknown: true });
      });
      const { repository, log } = await lead(keys, one, { client });

      const id = await commit(repository);

      expect(doubts).toBeGreaterThan(1);
      expect(log.head).toMatchObject({ commit: id, sequence: 1 });
      expect(await records(keys)).toHaveLength(1);
    },
  );

  test.each([0, 1, 2])(
    'a leader that dies after %i parts leaves nothing of its commit',
    async (most) => {
      const keys = platform();
      const one = await disk();
      let sent = 0;
      const client = doubtful(etcd, async (request) => {
        if (request.operations.some((each) => 'put' in each) && sent++ >= most) {
          term.end();
          throw new EtcdError('gone');
        }
        return await etcd.txn(request);
      });
      const term = await elect(keys);
      const dead = await lead(keys, one, { client, term });
      const noise = Array.from({ length: 200_000 }, (_, n) => `${n * 2654435761}`).join(' ');
      await expect(commit(dead.repository, noise)).rejects.toThrow(TermEndedError);
      await cluster.ctl(['del', keys.leader]);

      const next = await lead(keys, await disk());
      expect(await etcd.range({ key: keys.packs, prefix: true })).toMatchObject({ count: 0 });
      const id = await commit(next.repository);
      const back = mirrorOf(keys, one);
      await back.catchUp();

      expect(one.git('rev-parse', REF)).toBe(id);
      whole(one);
    },
  );

  test('a leader that dies between etcd and its disk is brought to where etcd is', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const first = await commit(repository);
    const second = await commit(repository);
    await repository.close();
    // As if the last step on the disk had not been made.
    one.git('update-ref', REF, first);
    await cluster.ctl(['del', keys.leader]);

    const next = await lead(keys, one);

    expect(one.git('rev-parse', REF)).toBe(second);
    const third = await commit(next.repository);
    await mirrorOf(keys, other).catchUp();
    expect(other.git('rev-parse', REF)).toBe(third);
  });

  test('commits that only one disk has are kept beside the branch', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const first = await commit(repository);
    const mirror = mirrorOf(keys, other);
    await mirror.catchUp();
    const own = byHand(other, first, 'never acknowledged');
    other.git('update-ref', REF, own);
    const second = await commit(repository);

    await mirror.catchUp();

    expect(other.git('rev-parse', REF)).toBe(second);
    expect(other.git('rev-parse', `${LOST_REFS}${own}`)).toBe(own);
    whole(other);
  });

  /** etcd as it was when `keys.head` was put at that revision. */
  async function putBack(keys: ReturnType<typeof keysBelow>, revision: bigint): Promise<void> {
    const { kvs } = await etcd.range({ key: keys.head, revision });
    const value = kvs[0]?.value ?? Buffer.alloc(0);
    const sequence = JSON.parse(value.toString()).sequence + 1;
    const below = (key: string) => ({ remove: sequenceKey(key, sequence), end: endOf(key) });
    const operations = [{ put: keys.head, value }, below(keys.log), below(keys.packs)];
    await etcd.txn({ compare: [], operations });
  }

  test('an etcd that was put back goes on from the disk that has more, and all follow', async () => {
    const keys = platform();
    const [one, other, third] = [await disk(), await disk(), await disk()];
    const { repository, mirror, term } = await lead(keys, one);
    const behind = mirrorOf(keys, other);
    const before = await commit(repository);
    await behind.catchUp();
    expect(await behind.ahead()).toBeUndefined();
    const { revision } = await etcd.range({ key: keys.head });
    const last = [await commit(repository), await commit(repository)].at(-1);
    await mirror.catchUp();
    await mirror.stop();
    await term.giveUp();
    await putBack(keys, revision);

    // A disk that remembers, after a restart, and one that came from a backup and does not.
    const again = mirrorOf(keys, one);
    expect((await again.catchUp())?.commit).toBe(before);
    expect(await again.ahead()).toBe(last);
    third.git('fetch', '-q', one.gitDir, `${REF}:${REF}`);
    expect(await mirrorOf(keys, third).ahead()).toBe(last);
    expect(await behind.ahead()).toBeUndefined();
    const next = { etcd, keys, codec, term: await elect(keys), logger };
    const log = await RepositoryLog.open(next);
    await etcd.txn({
      compare: [],
      operations: [{ put: `${keys.candidates}b`, value: Buffer.from('{}') }],
    });
    await log.resume(String(last));

    expect((await etcd.range({ key: `${keys.candidates}b` })).kvs).toEqual([]);
    expect((await again.catchUp())?.commit).toBe(last);
    expect(await again.ahead()).toBeUndefined();
    await mirrorOf(keys, other, one).catchUp();
    for (const { git } of [one, other]) {
      expect(git('rev-parse', REF)).toBe(last);
      expect(git('for-each-ref', LOST_REFS)).toBe('');
    }
    const led = await lead(keys, one, { term: next.term });
    const own = await commit(led.repository);
    await mirrorOf(keys, other).catchUp();
    expect(other.git('rev-parse', REF)).toBe(own);
    whole(other);
  });

  test('a write acknowledged right before a kill counts after etcd was restored', async () => {
    const keys = platform();
    const one = await disk();
    const { repository, mirror, term } = await lead(keys, one);
    const before = await commit(repository);
    await mirror.stop();
    const { revision } = await etcd.range({ key: keys.head });
    const last = await commit(repository);
    await term.giveUp();
    await putBack(keys, revision);

    const again = mirrorOf(keys, one);

    expect(await again.ahead()).toBe(last);
    expect((await again.catchUp())?.commit).toBe(before);
    expect(one.git('rev-parse', REF)).toBe(last);
  });

  test('commits on the disk before the boot of the machine count, since an earlier mark may be old', async () => {
    const keys = platform();
    const one = await disk();
    const { repository, mirror } = await lead(keys, one);
    const first = await commit(repository);
    await mirror.stop();
    const later = byHand(one, first, 'acknowledged before the loss of power');
    one.git('update-ref', REF, later);
    const file = join(one.gitDir, 'gitplane/agreed.json');
    expect(await mirrorOf(keys, one).ahead()).toBeUndefined();

    const mark = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...mark, boot: 'another' }));

    expect(await mirrorOf(keys, one).ahead()).toBe(later);
  });

  test('commits of one disk alone are not a sign that etcd was restored', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository } = await lead(keys, one);
    const mirror = mirrorOf(keys, other);
    const first = await commit(repository);
    await mirror.catchUp();
    await mirror.stop();
    other.git('update-ref', REF, byHand(other, first, 'never acknowledged'));

    const again = mirrorOf(keys, other);

    expect(await again.ahead()).toBeUndefined();
    await again.catchUp();
    expect(other.git('rev-parse', REF)).toBe(first);
  });

  test('a move by hand on the disk of the leader goes to all', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository, log } = await lead(keys, one);
    const own = byHand(one, await commit(repository), 'by hand');
    one.git('update-ref', REF, own);

    expect(await repository.head()).toBe(own);

    expect(log.head?.commit).toBe(own);
    await mirrorOf(keys, other).catchUp();
    expect(other.git('rev-parse', REF)).toBe(own);
    whole(other);
    expect(await commit(repository)).toBe(one.git('rev-parse', REF));
  });

  test('a branch that was moved back or aside by hand is put where it was', async () => {
    const keys = platform();
    const one = await disk();
    const { repository } = await lead(keys, one);
    const first = await commit(repository);
    const second = await commit(repository);
    // How long the disk may be behind is over once it was not.
    await vi.waitFor(async () => {
      one.git('update-ref', REF, first);
      await repository.head();
      expect(one.git('rev-parse', REF)).toBe(second);
    }, LONG);

    const aside = byHand(one, first, 'aside');
    one.git('update-ref', REF, aside);
    expect(await repository.head()).toBe(second);
    expect(one.git('rev-parse', `${LOST_REFS}${aside}`)).toBe(aside);
  });

  test('a push that etcd has and git did not finish is finished', async () => {
    const keys = platform();
    const [one, other] = [await disk(), await disk()];
    const { repository, led } = await lead(keys, one);
    const first = await commit(repository);
    const pushed = byHand(one, first, 'pushed');

    expect(await led.admit({ gitDir: one.gitDir }, { from: first, to: pushed })).toEqual([]);
    await led.arrived(pushed);

    expect(one.git('rev-parse', REF)).toBe(pushed);
    await mirrorOf(keys, other).catchUp();
    expect(other.git('rev-parse', REF)).toBe(pushed);
    whole(other);
    const late = await led.admit({ gitDir: one.gitDir }, { from: first, to: pushed });
    expect(late).toEqual(['The branch moved meanwhile; fetch, rebase and push again']);
  });

  test('the second of two moves from one commit learns that the branch moved', async () => {
    const keys = platform();
    const { repository, log } = await lead(keys, await disk());
    const first = await commit(repository);
    const move = { from: first, pack: Buffer.from('p'), index: undefined };

    const ended = await Promise.allSettled([
      log.append({ ...move, to: 'a'.repeat(40) }),
      log.append({ ...move, to: 'b'.repeat(40) }),
    ]);

    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(ended[1]).toMatchObject({ reason: expect.any(HeadMovedError) });
  });

  test('records go when another disk has them, but for the newest; what is missing is fetched', async () => {
    const keys = platform();
    const [one, other, late] = [await disk(), await disk(), await disk()];
    const { repository, log, term } = await lead(keys, one);
    for (let n = 0; n < 7; n++) await commit(repository);
    const info = { peer: '', url: '', version: '' };
    const of = { etcd, keys, term, log, self: 'a', keep: 3 };

    await trimLog({ ...of, replicas: () => [{ id: 'a', mirrored: 7, ...info }] });
    expect(await records(keys)).toHaveLength(7);
    await trimLog({ ...of, replicas: () => [{ id: 'b', mirrored: 2, ...info }] });
    expect(await records(keys)).toHaveLength(5);
    await trimLog({ ...of, replicas: () => [{ id: 'b', mirrored: 6, ...info }] });
    expect(await records(keys)).toHaveLength(3);

    await expect(mirrorOf(keys, other).catchUp()).rejects.toThrow('nobody to fetch from');
    await mirrorOf(keys, late, one).catchUp();
    expect(late.git('rev-parse', REF)).toBe(log.head?.commit);
    whole(late);
  });
});

function writes(request: TxnRequest, key: string): boolean {
  return request.operations.some((operation) => 'put' in operation && operation.put === key);
}

/** An etcd whose transactions do not always end as they should. */
function doubtful(etcd: Etcd, txn: (request: TxnRequest) => Promise<TxnResponse>): Etcd {
  return {
    place: etcd.place,
    range: (request) => etcd.range(request),
    scan: (request) => etcd.scan(request),
    watch: (request) => etcd.watch(request),
    grant: (seconds) => etcd.grant(seconds),
    compact: (revision) => etcd.compact(revision),
    close: () => etcd.close(),
    txn,
  };
}
