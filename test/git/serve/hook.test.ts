/** The pre-receive hook: real pushes by path, judged by a listener in this process. */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { installHooks } from '../../../src/git/serve/hook.ts';
import type { PushRequest, PushVerdict } from '../../../src/git/serve/hook-protocol.ts';
import { listenForPushes, pushSocketPath } from '../../../src/git/serve/hook-server.ts';
import type { Judge } from '../../../src/git/serve/push-judge.ts';
import { withQuarantine } from '../../../src/git/serve/quarantine.ts';
import {
  bareRepository,
  cloneForTest,
  git,
  gitEnv,
  openForTest,
  temporaryFolder,
} from '../../support/git.ts';
import { DISKS_MISSING, mountDisk } from '../../support/small-disk.ts';

const NO_ID = '0'.repeat(40);
const client = hookClient();

/** The built program where it is as new as its sources: a loader for those takes longer than git. */
function hookClient(): string[] {
  const root = join(import.meta.dirname, '../../..');
  const built = join(root, 'dist/git/serve/hook-client.js');
  const age = (path: string): number => (existsSync(path) ? statSync(path).mtimeMs : 0);
  const sources = ['hook-client.ts', 'hook-protocol.ts'].map((name) =>
    join(root, 'src/git/serve', name),
  );
  if (sources.every((source) => age(source) < age(built))) return [process.execPath, built];
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, '--import', tsx, sources[0] ?? ''];
}

interface Hosted {
  readonly gitDir: string;
  readonly socketPath: string;
  readonly clone: string;
}

async function hosted(judge: Judge | undefined): Promise<Hosted> {
  const gitDir = await bareRepository();
  const socketPath = join(temporaryFolder(), 'run', 'push.sock');
  await installHooks(gitDir, { command: [...client, socketPath] });
  if (judge !== undefined) {
    const listener = await listenForPushes(socketPath, judge);
    onTestFinished(() => listener.close());
  }
  return { gitDir, socketPath, clone: cloneForTest(gitDir) };
}

function commit(clone: string, files: Readonly<Record<string, string>>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), content);
  }
  git(clone, ['add', '-A']);
  git(clone, ['commit', '-q', '-m', 'change']);
  return git(clone, ['rev-parse', 'HEAD']);
}

/** Pushes while this process goes on answering. */
function push(
  clone: string,
  args: readonly string[] = ['origin', 'HEAD:main'],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; remote: string[] }> {
  return new Promise((done) => {
    const child = spawn('git', ['push', '-q', ...args], {
      cwd: clone,
      env: { ...gitEnv, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('close', (code) => {
      const lines = stderr.split('\n').filter((line) => line.startsWith('remote: '));
      done({ code, remote: lines.map((line) => line.slice('remote: '.length).trimEnd()) });
    });
  });
}

describe('a push by path', () => {
  test('is accepted by the judge, which gets the updates', async () => {
    const judge = vi.fn<Judge>(async () => ({ ok: true, lines: ['well done'] }));
    const { gitDir, clone } = await hosted(judge);
    const first = commit(clone, { a: '1' });
    expect(await push(clone)).toEqual({ code: 0, remote: ['well done'] });
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(first);

    const second = commit(clone, { a: '2' });
    await push(clone, ['-o', 'approve=prune', '-o', 'x y', 'origin', 'HEAD:main', 'HEAD:other']);
    const requests = judge.mock.calls.map(([request]) => request);
    expect(requests[0]?.updates).toEqual([{ oldId: NO_ID, newId: first, ref: 'refs/heads/main' }]);
    expect(requests[0]?.pushOptions).toEqual([]);
    expect(requests[1]?.updates).toEqual([
      { oldId: first, newId: second, ref: 'refs/heads/main' },
      { oldId: NO_ID, newId: second, ref: 'refs/heads/other' },
    ]);
    expect(requests[1]?.pushOptions).toEqual(['approve=prune', 'x y']);
    expect(Object.keys(requests[0]?.env ?? {}).sort()).toEqual([
      'GIT_ALTERNATE_OBJECT_DIRECTORIES',
      'GIT_OBJECT_DIRECTORY',
      'GIT_QUARANTINE_PATH',
    ]);
  });

  test('is refused with every line, and leaves nothing', async () => {
    const lines = [
      'teams/a.yaml:3:5: spec.users: Required value',
      'b.yaml:1:1: 100% “wrong”',
      'c: \x1b[31mred\x07',
    ];
    const { gitDir, clone } = await hosted(async () => ({ ok: false, lines }));
    const id = commit(clone, { a: '1' });
    const { code, remote } = await push(clone);
    expect(code).toBe(1);
    expect(remote).toEqual([lines[0], lines[1], 'c: ?[31mred?']);
    expect(git(gitDir, ['for-each-ref'])).toBe('');
    expect(() => git(gitDir, ['cat-file', '-e', id])).toThrow();
  });

  test('is refused without a daemon, with a remedy in one line', async () => {
    const { gitDir, clone } = await hosted(undefined);
    commit(clone, { a: '1' });
    const { code, remote } = await push(clone);
    expect(code).toBe(1);
    expect(remote).toHaveLength(1);
    expect(remote[0]).toMatch(/^gitplane is not running.*`gitplane serve`/);
    expect(git(gitDir, ['for-each-ref'])).toBe('');
  });

  test('is refused when the daemon dies before it answers', async () => {
    const { gitDir, socketPath, clone } = await hosted(undefined);
    const { createServer } = await import('node:net');
    mkdirSync(dirname(socketPath));
    const server = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((done) => server.listen(socketPath, done));
    onTestFinished(() => void server.close());
    commit(clone, { a: '1' });
    const { code, remote } = await push(clone);
    expect([code, remote[0]]).toEqual([
      1,
      expect.stringContaining('closed the connection before it answered'),
    ]);
    expect(git(gitDir, ['for-each-ref'])).toBe('');
  });

  test('is refused when the judge fails, without its secrets', async () => {
    const { clone } = await hosted(() => Promise.reject(new Error('secret-value')));
    commit(clone, { a: '1' });
    const { code, remote } = await push(clone);
    expect(code).toBe(1);
    expect(remote.join()).toContain('could not validate this push');
    expect(remote.join()).not.toContain('secret-value');
  });

  test('does not get around the hook with the pusher’s own core.hooksPath', async () => {
    const { gitDir, clone } = await hosted(async () => ({ ok: false, lines: ['no'] }));
    commit(clone, { a: '1' });
    const config = join(temporaryFolder(), 'config');
    writeFileSync(config, '[core]\n\thooksPath = /nowhere\n');
    expect(await push(clone, undefined, { GIT_CONFIG_GLOBAL: config })).toEqual({
      code: 1,
      remote: ['no'],
    });
    expect(git(gitDir, ['for-each-ref'])).toBe('');
  });
});

describe('the quarantine', () => {
  test('is read like the repository, before anyone else can', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const socketPath = join(temporaryFolder(), 'push.sock');
    await installHooks(gitDir, {
      command: [...client, socketPath],
    });
    const seen: unknown[] = [];
    async function judge({ updates, env }: PushRequest): Promise<PushVerdict> {
      const [{ oldId, newId } = { oldId: NO_ID, newId: NO_ID }] = updates;
      const reader = await withQuarantine(repository, env);
      const old = oldId === NO_ID ? undefined : oldId;
      const changes = await reader.diff(old, newId);
      const ids = changes.flatMap((change) => change.newId ?? []);
      const commits: string[] = [];
      for await (const { id } of reader.history(old, newId)) commits.push(id);
      seen.push({
        paths: changes.map((change) => change.path),
        contents: (await reader.readBlobs(ids)).map(String),
        files: (await reader.listFiles(newId)).map((file) => file.path),
        commits,
        root: await reader.rootCommit(newId),
        descends: old === undefined || (await reader.isAncestor(old, newId)),
        outside: await repository.readBlobs(ids).then(
          () => 'visible',
          (error: Error) => error.name,
        ),
      });
      await reader.close();
      return { ok: true, lines: [] };
    }
    const listener = await listenForPushes(socketPath, judge);
    onTestFinished(() => listener.close());
    const clone = cloneForTest(gitDir);
    const one = commit(clone, { 'a/b': 'first', c: 'first too' });
    await push(clone);
    const two = commit(clone, { 'a/b': 'second' });
    await push(clone);
    expect(seen).toEqual([
      {
        paths: ['a/b', 'c'],
        contents: ['first', 'first too'],
        files: ['a/b', 'c'],
        commits: [one],
        root: one,
        descends: true,
        outside: 'MissingObjectError',
      },
      {
        paths: ['a/b'],
        contents: ['second'],
        files: ['a/b', 'c'],
        commits: [two],
        root: one,
        descends: true,
        outside: 'MissingObjectError',
      },
    ]);
    expect(await repository.head()).toBe(two);
  });

  test.each([
    ['/etc', undefined],
    ['objects/../..', undefined],
    [undefined, '/etc'],
    [undefined, '/etc:objects'],
    ['objects/nowhere', undefined],
  ])('must be below the objects of the repository: %j, %j', async (directory, alternates) => {
    const gitDir = await bareRepository();
    const env = {
      ...(directory !== undefined && { GIT_OBJECT_DIRECTORY: directory }),
      ...(alternates !== undefined && { GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates }),
    };
    await expect(withQuarantine({ gitDir }, env)).rejects.toThrow(
      'is not a quarantine directory of',
    );
  });
});

describe('installing', () => {
  test('writes an executable script, twice the same, and follows a new command', async () => {
    const gitDir = await bareRepository();
    const hook = join(gitDir, 'hooks/pre-receive');
    await installHooks(gitDir, { command: ['/bin/node', "/it's here/client.js", '/run/a b.sock'] });
    const script = readFileSync(hook, 'utf8');
    expect(script.split('\n')[2]).toBe(
      `exec '/bin/node' '/it'\\''s here/client.js' '/run/a b.sock'`,
    );
    expect(statSync(hook).mode & 0o777).toBe(0o755);
    const written = statSync(hook).ino;
    await installHooks(gitDir, { command: ['/bin/node', "/it's here/client.js", '/run/a b.sock'] });
    expect(statSync(hook).ino).toBe(written);
    await installHooks(gitDir, { command: ['/bin/true'] });
    expect(readFileSync(hook, 'utf8')).toContain("exec '/bin/true'");
  });

  test('removes the proc-receive of earlier versions, and keeps a foreign one', async () => {
    const gitDir = await bareRepository();
    const hook = join(gitDir, 'hooks/proc-receive');
    await installHooks(gitDir, { command: ['/bin/true'] });
    const own = readFileSync(join(gitDir, 'hooks/pre-receive'), 'utf8');
    for (const [script, isKept] of [
      [own, false],
      ['#!/bin/sh\nexit 0\n', true],
    ] as const) {
      writeFileSync(hook, script);
      await installHooks(gitDir, { command: ['/bin/true'] });
      expect(existsSync(hook)).toBe(isKept);
    }
  });

  test('ignores folders with the name of a hook, as git does', async () => {
    const gitDir = await bareRepository();
    for (const name of ['update', 'proc-receive']) {
      mkdirSync(join(gitDir, 'hooks', name), { recursive: true });
    }
    await installHooks(gitDir, { command: ['/bin/true'] });
    expect(existsSync(join(gitDir, 'hooks/served/update'))).toBe(false);
  });

  test('keeps a foreign hook and reports it', async () => {
    const gitDir = await bareRepository();
    mkdirSync(join(gitDir, 'hooks'));
    const hook = join(gitDir, 'hooks/pre-receive');
    writeFileSync(hook, '#!/bin/sh\nexit 0\n');
    await expect(installHooks(gitDir, { command: ['/bin/true'] })).rejects.toThrow(
      `${hook} is not a hook of gitplane. Move it away`,
    );
    expect(readFileSync(hook, 'utf8')).toBe('#!/bin/sh\nexit 0\n');
  });

  // Git ignores such a hook, and accepts every push.
  test.skipIf(DISKS_MISSING !== undefined)(
    'reports a hook that the file system does not execute',
    async () => {
      const folder = temporaryFolder();
      const disk = mountDisk(folder, 8, ',noexec');
      onTestFinished(() => disk.unmount());
      const gitDir = join(folder, 'repo.git');
      cpSync(await bareRepository(), gitDir, { recursive: true });
      await expect(installHooks(gitDir, { command: ['/bin/true'] })).rejects.toThrow(
        'pre-receive cannot be executed. Mount its file system without noexec',
      );
    },
  );
});

describe('the socket', () => {
  const accept: Judge = async () => ({ ok: true, lines: [] });

  test('the socket and its folder belong to this process alone, and are removed at close', async () => {
    const socketPath = join(temporaryFolder(), 'run', 'push.sock');
    const listener = await listenForPushes(socketPath, accept);
    expect(lstatSync(socketPath).mode & 0o777).toBe(0o600);
    expect(lstatSync(dirname(socketPath)).mode & 0o777).toBe(0o700);
    await listener.close();
    expect(existsSync(socketPath)).toBe(false);
  });

  test('a socket that a crash left is replaced', async () => {
    const socketPath = join(temporaryFolder(), 'push.sock');
    const script = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
    await new Promise((done) => spawn(process.execPath, ['-e', script]).once('close', done));
    expect(lstatSync(socketPath).isSocket()).toBe(true);
    const listener = await listenForPushes(socketPath, accept);
    await listener.close();
  });

  test('a socket of another daemon is left alone', async () => {
    const socketPath = join(temporaryFolder(), 'push.sock');
    const listener = await listenForPushes(socketPath, accept);
    await expect(listenForPushes(socketPath, accept)).rejects.toThrow('Another gitplane listens');
    await listener.close();
  });

  test('cannot be where a file is', async () => {
    const socketPath = join(temporaryFolder(), 'push.sock');
    writeFileSync(socketPath, 'precious');
    await expect(listenForPushes(socketPath, accept)).rejects.toThrow('is not a socket');
    expect(readFileSync(socketPath, 'utf8')).toBe('precious');
  });

  test('a socket with too long a path causes an error, and pushSocketPath never returns such a path', async () => {
    const deep = join(temporaryFolder(), 'x'.repeat(120));
    await expect(listenForPushes(join(deep, 'push.sock'), accept)).rejects.toThrow(
      'too long for a socket',
    );
    expect(pushSocketPath('/data')).toBe('/data/run/push.sock');
    const short = pushSocketPath(deep);
    onTestFinished(() => rmSync(dirname(short), { recursive: true, force: true }));
    expect(short).toBe(pushSocketPath(deep));
    expect(short).not.toBe(pushSocketPath(`${deep}y`));
    const listener = await listenForPushes(short, accept);
    await listener.close();
  });

  test('close waits for running verdicts, not for idle connections', async () => {
    const socketPath = join(temporaryFolder(), 'push.sock');
    let begun: () => void = () => undefined;
    const judging = new Promise<void>((done) => {
      begun = done;
    });
    let decide: (verdict: PushVerdict) => void = () => undefined;
    const verdict = new Promise<PushVerdict>((done) => {
      decide = done;
    });
    const listener = await listenForPushes(socketPath, () => {
      begun();
      return verdict;
    });
    const silent = connect(socketPath);
    silent.on('error', () => undefined);
    const asking = connect(socketPath);
    let answer = '';
    asking.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    const answered = new Promise((done) => asking.once('end', done));
    asking.write('{"updates":[],"env":{},"pushOptions":[]}\n');
    await judging;
    const closing = listener.close();
    decide({ ok: true, lines: ['yes'] });
    await answered;
    asking.end();
    await closing;
    expect(JSON.parse(answer)).toEqual({ ok: true, lines: ['yes'] });
  });
});
