/** A write on top of a manifest that is not valid: a person's newest intent is never lost unseen. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';

// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes
type Any = any;

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
  const clone = await daemon.clone();
  await commit(clone, 'displayName: Good');
  await git(clone, 'push', '-q');
  await breakIt(clone);
});

/** Moves the branch to an invalid manifest. */
async function breakIt(clone: string): Promise<void> {
  await commit(clone, 'displayNam: Bad');
  // No hook judges what is moved beside it.
  const bare = join(daemon.dataDir, 'repo.git');
  await git(bare, 'fetch', '-q', clone, 'main');
  await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
  await vi.waitFor(async () => expect(await conditions()).toHaveLength(1));
}

afterAll(async () => {
  await daemon.stop();
});

async function commit(clone: string, spec: string): Promise<void> {
  const lines = [
    'apiVersion: management.gitplane.dev/v1',
    'kind: Team',
    'metadata:',
    '  name: broken',
  ];
  writeFileSync(join(clone, 'teams/broken.yaml'), [...lines, `spec: { ${spec} }`, ''].join('\n'));
  await git(clone, 'add', '.');
  await git(clone, 'commit', '-qm', spec);
}

async function git(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await daemon.git(args, folder);
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

async function call(method: string, path: string): Promise<Any> {
  return (await daemon.call(method, path)).json();
}

/** All but `Ready`, which follows from them. */
async function conditions(): Promise<Any[]> {
  const all: Any[] = (await call('GET', `${TEAMS}/broken`)).status?.conditions ?? [];
  return all.filter(({ type }) => type !== 'Ready');
}

async function head(): Promise<string> {
  return await git(join(daemon.dataDir, 'repo.git'), 'rev-parse', 'main');
}

describe('a write to an object whose manifest in git is not valid', () => {
  test.each<[string, string, string, object]>([
    ['PUT', '', 'application/json', { spec: { displayName: 'Over' } }],
    ['PATCH', '', MERGE_PATCH, { spec: { displayName: 'Over' } }],
    [
      'PATCH',
      '',
      'application/json-patch+json',
      [{ op: 'add', path: '/spec/displayName', value: 'Over' }],
    ],
    ['PATCH', '?fieldManager=a', 'application/apply-patch+yaml', { spec: { description: 'Over' } }],
  ])(
    'a write as %s%s of %s is refused with the place, and git keeps what it says',
    async (method, query, type, body) => {
      const before = await head();
      const current = await call('GET', `${TEAMS}/broken`);
      const whole = Array.isArray(body)
        ? body
        : {
            apiVersion: current.apiVersion,
            kind: 'Team',
            metadata: {
              name: 'broken',
              ...(method === 'PUT' ? { resourceVersion: current.metadata.resourceVersion } : {}),
            },
            ...body,
          };
      const write = await daemon.call(method, `${TEAMS}/broken${query}`, { body: whole, type });
      expect(write.code, write.text).toBe(409);
      expect(write.json().message).toMatch(
        /teams\/broken\.yaml:5:9: .*displayNam.*Mend it in git.*force=true/,
      );
      expect(await head()).toBe(before);
    },
  );

  test('goes on from the last good version with force=true, and the commit names the dropped changes', async () => {
    const current = await call('GET', `${TEAMS}/broken`);
    const write = await daemon.call('PUT', `${TEAMS}/broken?force=true`, {
      body: { ...current, spec: { ...current.spec, description: 'Forced' } },
    });
    expect(write.code, write.text).toBe(200);
    expect(write.json().spec).toEqual({ displayName: 'Good', description: 'Forced' });
    expect(await conditions()).toEqual([]);
    const clone = await daemon.clone();
    const message = await git(clone, 'log', '-1', '--format=%B');
    expect(message).toMatch(/Dropped the manifest in git.*\nteams\/broken\.yaml:5:9: .*displayNam/);
    expect(await git(clone, 'log', '-1', '--format=%(trailers:key=Request-Id)')).toMatch(
      /Request-Id: /,
    );
  });

  test('is repaired by a forced rollback to the version that is served', async () => {
    const clone = await daemon.clone();
    await breakIt(clone);
    const entries: Any[] = (await call('GET', `${TEAMS}/broken/history`)).items;
    const good = entries.find(({ degraded }) => degraded !== true);
    const body = { revision: good.revision };
    const before = await head();
    const idle = await daemon.call('POST', `${TEAMS}/broken/rollback`, { body });
    expect(idle.code, idle.text).toBe(200);
    expect(await head()).toBe(before);
    const forced = await daemon.call('POST', `${TEAMS}/broken/rollback?force=true`, { body });
    expect(forced.code, forced.text).toBe(200);
    expect(await conditions()).toEqual([]);
    await git(clone, 'fetch', '-q');
    const text = await git(clone, 'show', 'origin/main:teams/broken.yaml');
    expect(text).toContain('displayName: Good');
    expect(await git(clone, 'log', '-1', '--format=%B', 'origin/main')).toMatch(
      /Dropped the manifest in git/,
    );
  });
});
