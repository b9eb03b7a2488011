/**
 * Flux and Argo CD as readers of the hosted repository: the git clients of their controllers clone, fetch
 * and resolve revisions while the daemon writes.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { failedClaimsOf, goProgram, type Running, start } from './program.ts';

const LIMIT = 1_800_000;
/** Commits that a reader has seen before the writes end. */
const SEEN = 8;

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('readers of the repository', () => {
  const folder = scratchDir('gitplane-readers-');
  let daemon: Daemon;
  let reader: Running | undefined;

  beforeAll(async () => {
    for (const name of ['daemon', 'other']) {
      const file = join(folder, name);
      const made = await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file]);
      expect(made.code, made.stderr).toBe(0);
    }
    daemon = await startDaemon({ args: ['--signing-key', join(folder, 'daemon')] });
    await makeTags();
  });
  afterAll(async () => {
    reader?.kill();
    await daemon?.stop();
  });

  const url = (): string => `${daemon.url}/git/platform.git`;

  async function write(name: string, displayName: string): Promise<void> {
    const path = `${API}/teams/${name}?fieldManager=test`;
    const body = {
      ...{ apiVersion: 'management.gitplane.dev/v1', kind: 'Team' },
      ...{ metadata: { name }, spec: { displayName } },
    };
    const written = await daemon.call('PATCH', path, {
      body,
      type: 'application/apply-patch+yaml',
    });
    expect([200, 201], written.text).toContain(written.code);
  }

  /** v1.0.0, an annotated v1.2.0 and v2.0.0, each of another commit, and a commit after them. */
  async function makeTags(): Promise<void> {
    const clone = await daemon.clone();
    const git = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await daemon.git(words, clone);
      expect(code, stderr).toBe(0);
    };
    for (const tag of [['v1.0.0'], ['-a', '-m', 'Annotated', 'v1.2.0'], ['v2.0.0']]) {
      await write('flux', `Before ${tag.at(-1)}`);
      await git('pull', '--quiet');
      await git('tag', ...tag);
    }
    await git('push', '--quiet', '--tags');
    await write('argo', 'After the tags');
  }

  async function tip(): Promise<string> {
    const { stdout } = await daemon.git(['rev-parse', 'main'], join(daemon.dataDir, 'repo.git'));
    return stdout.trim();
  }

  /** Writes until the reader has seen many commits, and names the last one to it. */
  async function failedWhileWritten(program: string, args: readonly string[]): Promise<unknown> {
    const env = {
      ...{ GITPLANE_TOKEN: daemon.token, ARGOCD_TLS_DATA_PATH: join(folder, 'tls') },
      ...{ HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null', TMPDIR: folder },
    };
    reader = start(program, args, env);
    await reader.until((verdict) => verdict.waiting !== undefined);
    const seen = (): number => new Set(reader?.verdicts.map(({ read }) => read)).size;
    let writes = 0;
    while (seen() < SEEN && !reader.verdicts.some(({ error }) => error !== undefined)) {
      await write('argo', `Write ${writes++}`);
    }
    reader.tell(await tip());
    return await failedClaimsOf(reader, program);
  }

  test(
    'Flux clones branches, commits and ranges of tags, verifies signatures and follows writes',
    async (context) => {
      const program = goProgram({ folder: join(import.meta.dirname, 'flux') });
      if (program === undefined) return context.skip();
      const clones = join(folder, 'flux');
      mkdirSync(clones);
      const keys = ['daemon.pub', 'other.pub'].map((name) => join(folder, name));
      const args = [url(), join(daemon.dataDir, 'tls/ca.crt'), clones, ...keys];
      expect(await failedWhileWritten(program, args)).toEqual([]);
    },
    LIMIT,
  );

  test(
    'Argo CD resolves, fetches and describes revisions and follows writes',
    async (context) => {
      const program = goProgram({ folder: join(import.meta.dirname, 'argo-cd-git') });
      if (program === undefined) return context.skip();
      const clones = join(folder, 'argo');
      for (const name of [clones, join(folder, 'tls')]) mkdirSync(name);
      // By the name of the host, as Argo CD mounts certificates.
      writeFileSync(
        join(folder, 'tls/127.0.0.1'),
        readFileSync(join(daemon.dataDir, 'tls/ca.crt')),
      );
      expect(await failedWhileWritten(program, [url(), clones])).toEqual([]);
    },
    LIMIT,
  );
});
