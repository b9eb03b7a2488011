/** Pushes of secrets in the clear to branches and tags that are not served. */
import { beforeEach, describe, expect, test } from 'vitest';
import { PushJudge } from '../../../src/registry/pushes/push.ts';
import type { Verdict } from '../../../src/registry/pushes/verdict.ts';
import { Keyring, makeIdentity } from '../../../src/sealing/data-keys.ts';
import { formatSopsConfig } from '../../../src/sealing/sops-config.ts';
import { foreignCommit, git } from '../../support/git.ts';
import { kinds, openTestPlatform, type TestPlatform } from '../../support/platform.ts';

const API = 'management.gitplane.dev/v1';
const PATH = 'namespaces/web/sharedsecrets/cdn.yaml';
const secret = (value: string, name = 'cdn'): string =>
  `apiVersion: ${API}\nkind: SharedSecret\nmetadata:\n  name: ${name}\nspec:\n  data:\n    password: ${value}\n`;
const CLEAR = secret('aHVudGVyMg==');
const TEAM = `apiVersion: ${API}\nkind: Team\nmetadata:\n  name: ops\n`;

let platform: TestPlatform;
let gitDir: string;
beforeEach(async () => {
  const ours = await makeIdentity();
  platform = await openTestPlatform({
    keyring: await Keyring.open([ours.identity], { marks: true }),
  });
  gitDir = platform.repository.gitDir;
  const config = formatSopsConfig([{ folder: 'sharedsecrets', keys: ['data'] }], [ours.recipient]);
  await platform.commit({ '.sops.yaml': config, 'teams/ops.yaml': TEAM });
});

/** A commit that no ref has, as one in quarantine. */
function pushed(...[first, ...others]: readonly Readonly<Record<string, string | null>>[]): string {
  let id = foreignCommit(gitDir, { files: first ?? {} });
  for (const files of others) id = foreignCommit(gitDir, { files, parents: [id] });
  git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);
  return id;
}

function judge(newId: string, ref = 'refs/heads/side', by = platform.judge): Promise<Verdict> {
  const updates = [{ ref, oldId: undefined, newId }];
  return by.judge({ updates, user: undefined, source: platform.repository });
}

describe('a secret in plaintext', () => {
  test.each(['refs/heads/side', 'refs/tags/v1'])(
    'is refused at %s, with the place',
    async (ref) => {
      const id = pushed({ [PATH]: CLEAR });

      const { ok, lines } = await judge(id, ref);

      expect(ok).toBe(false);
      expect(lines[0]).toMatch(
        `${PATH}:7:15: in commit ${id.slice(0, 12)}: spec.data.password: must not be in git as plaintext`,
      );
      expect(lines.join()).not.toContain('aHVudGVyMg');
      expect(lines.at(-1)).toBe('nothing was changed');
    },
  );

  test('is refused below an annotated tag', async () => {
    const id = pushed({ [PATH]: CLEAR });
    const text = `object ${id}\ntype commit\ntag v1\ntagger A <a@example.com> 1700000000 +0000\n\nx\n`;
    const tag = git(gitDir, ['hash-object', '-t', 'tag', '-w', '--stdin'], { input: text });

    expect((await judge(tag, 'refs/tags/v1')).lines[0]).toContain(`${PATH}:7:15: in commit`);
  });

  test('is refused where a later commit of the push removes it', async () => {
    const id = pushed({ [PATH]: CLEAR }, { [PATH]: null });

    expect((await judge(id)).lines[0]).toContain(`${PATH}:7:15: in commit`);
  });

  test('is refused where a merge brings it', async () => {
    const one = foreignCommit(gitDir, { files: { a: '1' } });
    const other = foreignCommit(gitDir, { files: { b: '1' } });
    const merge = foreignCommit(gitDir, { parents: [one, other], files: { [PATH]: CLEAR } });
    git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);

    expect((await judge(merge)).lines[0]).toContain(`in commit ${merge.slice(0, 12)}`);
  });

  test('is refused beside a good move of the served branch', async () => {
    const oldId = await platform.repository.head();
    const good = pushed({ 'teams/qa.yaml': TEAM.replace('ops', 'qa') });
    const bad = pushed({ [PATH]: CLEAR });
    const updates = [
      { ref: platform.repository.ref, oldId, newId: good },
      { ref: 'refs/heads/side', oldId: undefined, newId: bad },
    ];

    const verdict = await platform.judge.judge({
      ...{ updates, user: undefined, source: platform.repository },
    });

    expect(verdict.ok).toBe(false);
    expect(verdict.lines[0]).toContain(PATH);
  });

  test('is taken with --refuse-plaintext branch', async () => {
    const { repository, branch, store } = platform;
    const authorizer = { authorize: () => ({ allowed: true, reason: 'a test' }) };
    const parts = { kinds, store, clock: Date, under: '', guards: [] };
    const options = { ...parts, branch, repository, authorizer };
    const lax = new PushJudge({ ...options, refusePlaintext: 'branch' });

    expect(await judge(pushed({ [PATH]: CLEAR }), 'refs/heads/side', lax)).toEqual({
      ok: true,
      lines: [],
    });
  });
});

test('commits that a ref has already are not read again', async () => {
  const id = pushed({ [PATH]: CLEAR });
  git(gitDir, ['update-ref', 'refs/heads/older', id]);
  const on = foreignCommit(gitDir, { parents: [id], files: { 'notes.txt': '1' } });
  git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);

  expect(await judge(on)).toEqual({ ok: true, lines: [] });
});

test('a manifest that is not valid, and no secret, is taken', async () => {
  expect(await judge(pushed({ 'teams/bad.yaml': 'kind: [' }))).toEqual({ ok: true, lines: [] });
});

test('each version of a file is read once, for any number of commits', async () => {
  const versions = Array.from({ length: 20 }, (_, i) => ({
    'teams/ops.yaml': `${TEAM}  labels: { v: "${i % 2}" }\n`,
  }));
  const id = pushed(...versions);
  const blobs: string[] = [];
  const { repository } = platform;
  const source = new Proxy(repository, {
    get: (target, name) => {
      if (name === 'readBlobs') {
        return (ids: readonly string[]) => {
          blobs.push(...ids);
          return target.readBlobs(ids);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

  await platform.judge.judge({
    updates: [{ ref: 'refs/heads/side', oldId: undefined, newId: id }],
    user: undefined,
    source,
  });

  expect(blobs).toHaveLength(2);
});
