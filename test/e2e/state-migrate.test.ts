/** The state goes to an etcd and back, with the real program, and clients go on as if nothing was. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type RunResult, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';
import { freePorts } from '../support/machine.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

describe.skipIf(ETCD_MISSING !== undefined)(`gitplane state migrate ${ETCD_MISSING ?? ''}`, () => {
  let cluster: EtcdCluster;
  const dataDir = join(scratchDir(), 'data');
  const stateKey = join(scratchDir(), 'state.key');

  beforeAll(async () => {
    cluster = await startEtcd({ noFsync: true });
    writeFileSync(stateKey, 'ab'.repeat(32), { mode: 0o600 });
  });

  afterAll(() => cluster.stop());

  function migrate(from: string, to: string, folder = dataDir): Promise<RunResult> {
    const args = ['--from', from, '--to', to, '--data-dir', folder, '--state-key', stateKey];
    return run(process.execPath, [MAIN, 'state', 'migrate', ...args]);
  }

  /** Answers of the daemon and the version of the list, before and after `then`. */
  async function serve(args: readonly string[], then?: () => Promise<void>) {
    const daemon = await startDaemon({ dataDir, args });
    const list = (await daemon.call('GET', `${API}/teams`)).json();
    await then?.();
    await daemon.stop();
    const teams = list.items.map((item: { metadata: object }) => item.metadata);
    return { teams, version: Number(list.metadata.resourceVersion) };
  }

  test('objects, their versions and the order of versions survive both ways', async () => {
    const before = await serve([], async () => {
      const busy = await migrate('embedded', cluster.state);
      expect(busy.code).toBe(1);
    });

    const there = await migrate('embedded', cluster.state);
    expect(there).toMatchObject({ code: 0, stderr: '' });
    expect(there.stdout).toMatch(/^Copied and read back: \d+ records of the platform\./);
    const again = await migrate('embedded', cluster.state);
    expect(again.stderr).toContain('already');

    const [peer] = await freePorts(1);
    const args = ['--state', cluster.state, '--state-key', stateKey];
    const shared = await serve([...args, '--listen-peer', `127.0.0.1:${peer}`], async () => {
      const busy = await migrate(cluster.state, 'embedded', join(scratchDir(), 'other'));
      expect(busy.stderr).toContain('A replica runs');
    });
    expect(shared.teams).toEqual(before.teams);
    expect(shared.version).toBeGreaterThanOrEqual(before.version);

    const elsewhere = await migrate(cluster.state, 'embedded', join(scratchDir(), 'other'));
    expect(elsewhere.stderr).toContain('and that of the replicas at');
    renameSync(join(dataDir, 'state'), join(dataDir, 'state.before'));
    const back = await migrate(cluster.state, 'embedded');
    expect(back).toMatchObject({ code: 0, stderr: '' });
    const after = await serve([]);
    expect(after.teams).toEqual(before.teams);
    expect(after.version).toBeGreaterThanOrEqual(shared.version);
  });

  test.each([
    { from: 'embedded', to: 'embedded', told: 'One of --from and --to' },
    { from: 'embedded', to: 'etcd://', told: 'Cannot use --to' },
  ])('$from to $to is refused', async ({ from, to, told }) => {
    const { code, stderr } = await migrate(from, to);

    expect(code).toBe(2);
    expect(stderr).toContain(told);
  });
});
