/** A plain push beside busy writers of the API: it lands at the first try, and nothing is lost. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { expectSound } from '../support/git.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const TEAMS = `${API}/teams`;
const WRITERS = 8;
const PUSHERS = 3;
const ROUNDS = 4;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

async function displayName(name: string): Promise<string> {
  return (await daemon.call('GET', `${TEAMS}/${name}`)).json().spec.displayName;
}

async function patch(name: string, text: string): Promise<void> {
  const body = { spec: { displayName: text } };
  const type = 'application/merge-patch+json';
  const { code } = await daemon.call('PATCH', `${TEAMS}/${name}`, { body, type });
  expect(code).toBe(200);
}

test('every push of other objects lands at the first try', { timeout: 180_000 }, async () => {
  for (let i = 0; i < WRITERS; i += 1) {
    await daemon.call('POST', TEAMS, { body: { metadata: { name: `writer-${i}` }, spec: {} } });
  }
  let isOver = false;
  const write = async (writer: number): Promise<number> => {
    let count = 0;
    for (; !isOver; count += 1) await patch(`writer-${writer}`, `${count}`);
    return count;
  };
  const push = async (pusher: number): Promise<void> => {
    const clone = await daemon.clone();
    for (let round = 1; round <= ROUNDS; round += 1) {
      if (round % 2 === 0) await gitIn(daemon, clone, 'pull', '-q', '--rebase');
      const text = manifest('Team', `pusher-${pusher}`, `\n  displayName: "${round}"`);
      await commitFiles(daemon, clone, { [`teams/pusher-${pusher}.yaml`]: text });
      const result = await daemon.git(['push'], clone);
      expect(result.code, result.stderr).toBe(0);
      expect(await displayName(`pusher-${pusher}`)).toBe(`${round}`);
    }
    await gitIn(daemon, clone, 'pull', '-q', '--ff-only');
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, i) => write(i)));
  const pushing = Array.from({ length: PUSHERS }, (_, i) => push(i));
  await Promise.all(pushing).finally(() => {
    isOver = true;
  });
  for (const [i, count] of (await writing).entries()) {
    expect(await displayName(`writer-${i}`)).toBe(`${count - 1}`);
  }
});

test('a conflict takes the tag of an atomic push with it, and force overwrites nothing', async () => {
  const clone = await daemon.clone();
  await patch('payments', 'on the branch');
  const mine = manifest('Team', 'payments', '\n  displayName: in the push');
  await commitFiles(daemon, clone, { 'teams/payments.yaml': mine });
  await gitIn(daemon, clone, 'tag', 'v1');

  for (const args of [
    ['--atomic', 'origin', 'main', 'v1'],
    ['--force'],
    ['origin', 'HEAD:refs/for/main'],
  ]) {
    const result = await daemon.git(['push', ...args], clone);
    expect(result.code, result.stderr).toBe(1);
    expect(result.stderr).toMatch(/\(conflict: Team "payments"/);
    expect(hookSaid(result).join('\n')).toMatch(/spec\.displayName: the branch has changed it/);
  }
  expect(await gitIn(daemon, clone, 'ls-remote', 'origin', 'v1')).toBe('');
  expect(await displayName('payments')).toBe('on the branch');
});

test('an atomic push lands with all of its refs, or changes nothing', async () => {
  const clone = await daemon.clone();
  const text = manifest('Team', 'atomic', '\n  displayName: all');
  await commitFiles(daemon, clone, { 'teams/atomic.yaml': text });
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD~1:refs/heads/other');
  await patch('payments', 'beside an atomic push');

  // The repository denies the removal of branches.
  const refused = await daemon.git(['push', '--atomic', 'origin', 'main', ':other'], clone);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/other \(deletion prohibited\)/);
  expect(hookSaid(refused).join('\n')).toMatch(/^nothing was changed, since git refused another/m);
  expect((await daemon.call('GET', `${TEAMS}/atomic`)).code).toBe(404);

  const landed = await daemon.git(['push', '--atomic', 'origin', 'main', 'main:other'], clone);
  expect(landed.code, landed.stderr).toBe(0);
  expect(hookSaid(landed)).toEqual(['accepted: 1 created, 0 changed, 0 removed']);
  expect(await displayName('atomic')).toBe('all');
  await gitIn(daemon, clone, 'pull', '-q', '--ff-only');
});

test('the repository is sound, and reads the same after a kill', async () => {
  const teams = async (): Promise<string[]> => {
    const { items } = (await daemon.call('GET', TEAMS)).json();
    return items.map(({ metadata, spec }: { metadata: Record<string, unknown>; spec: unknown }) =>
      JSON.stringify([metadata['name'], metadata['uid'], metadata['generation'], spec]),
    );
  };
  const before = await teams();
  await daemon.stop('SIGKILL');
  daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined, token: daemon.token });
  expect(await teams()).toEqual(before);
  expectSound(join(daemon.dataDir, 'repo.git'));
});
