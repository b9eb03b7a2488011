/** The package as `npm pack` makes it, installed into an empty folder. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';

const ROOT = join(import.meta.dirname, '../..');
const exec = promisify(execFile);
const PATCHES = `
import { compilePatches, PatchEngine, readEndpointsSetting } from 'gitplane/endpoint-patches';
const config = { sync: { toHost: { endpoints: { patches: [
  { path: 'subsets[*].addresses[*].hostname', expression: 'value + "-patched"' },
] } } } };
const tenant = { name: 'blue', namespace: 'vcluster-blue', config, mode: 'single', referenceNames: 'short' };
const program = compilePatches({ tenant, patches: readEndpointsSetting(config).patches });
const engine = new PatchEngine({ threads: 1 });
const object = { kind: 'Endpoints', metadata: { name: 'db' }, subsets: [{ addresses: [{ ip: '10.0.0.1', hostname: 'db' }] }] };
const patched = await engine.apply(program, { object, direction: 'forward' });
await engine.close();
process.stdout.write(patched.object.subsets[0].addresses[0].hostname);
`;

const CLIENT = `
import { ApiError, createClient } from 'gitplane/client';
const [url, token] = process.argv.slice(2);
const client = createClient({ url, token });
const TEAMS = '/apis/management.gitplane.dev/v1/teams';
const { metadata } = await client.get(TEAMS);
const abort = new AbortController();
const query = { resourceVersion: metadata.resourceVersion };
const seen = (async () => {
  for await (const event of client.watch(TEAMS, { query, signal: abort.signal })) {
    const { name } = event.object.metadata;
    if (event.type === 'DELETED') return abort.abort(), name;
  }
})();
const made = await client.post(TEAMS, { body: { metadata: { name: 'typed' }, spec: { displayName: 'A' } } });
const path = { name: made.metadata.name };
const body = [{ op: 'replace', path: '/spec/displayName', value: 'B' }];
const patched = await client.patch(TEAMS + '/{name}', { path, body });
const plan = await client.post('/plan', { body: { ref: 'main' } });
const summary = await client.get('/summary');
const refused = await client.get('/search', { query: { q: '' } }).catch((error) => error);
const names = [];
for await (const team of client.list(TEAMS, { query: { limit: 2 } })) names.push(team.metadata.name);
await client.delete(TEAMS + '/{name}', { path });
process.stdout.write(JSON.stringify({
  displayName: patched.spec.displayName, verdict: plan.verdict, ok: summary.health.ok, names,
  refused: refused instanceof ApiError && refused.code, deleted: await seen,
}));
`;
/** Compiled against the declarations of the package. */
const TYPED = `
import { createClient, type Team, type WatchEvent } from 'gitplane/client';
const client = createClient({ url: 'https://platform.example', token: 'key' });
export const team: Promise<Team> = client.get('/apis/management.gitplane.dev/v1/teams/{name}', { path: { name: 'a' } });
export const events: AsyncGenerator<WatchEvent<Team>> = client.watch('/apis/management.gitplane.dev/v1/teams');
export const verdict: Promise<'accepted' | 'refused' | 'held'> = client.post('/plan', { body: { ref: 'main' } }).then((plan) => plan.verdict);
// @ts-expect-error a name is required
export const nameless = client.get('/apis/management.gitplane.dev/v1/teams/{name}');
// @ts-expect-error no such document
export const unknown = client.get('/nothing');
// @ts-expect-error the body is required
export const bodiless = client.post('/plan');
`;

/** Appends the name of each CommonJS module that a process or thread asks for. */
const RECORDER = `
const { appendFileSync } = require('node:fs');
const Module = require('node:module');
const load = Module._load;
Module._load = function (name, ...rest) {
  appendFileSync(__filename + '.loaded', name + '\\n');
  return load.call(this, name, ...rest);
};
`;

describe('the package', () => {
  const folder = scratchDir();
  const installed = join(folder, 'node_modules/gitplane');
  const main = join(installed, 'dist/main.js');
  let files: string[] = [];

  beforeAll(async () => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await exec('npm', args, { cwd: ROOT, maxBuffer: 1e8 });
    const [{ filename, files: packed }] = JSON.parse(stdout);
    files = packed.map(({ path }: { path: string }) => path);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const install = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    await exec('npm', [...install, join(folder, filename)], { cwd: folder });
  });

  test('has no sources, no tests and no file of one machine', () => {
    const roots = new Set(files.map((path) => path.split('/')[0]));
    expect([...roots].sort()).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist',
        'examples',
        'package.json',
        'schemas',
      ].sort(),
    );
    expect(files.filter((path) => /\.map$|\.tsx?$(?<!\.d\.ts)|\.test\./.test(path))).toEqual([]);
    expect(files).toContain('dist/bundle/THIRD-PARTY-LICENSES.txt');
    const { private: isPrivate } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'),
    );
    expect(isPrivate).toBeUndefined();
  });

  test('brings one library and what that needs', () => {
    const names = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(names).toContain('lmdb');
    for (const bundled of ['fastify', 'pg', 'undici', 'yaml', 'pino', 'node-sqlite3-wasm']) {
      expect(names).not.toContain(bundled);
    }
  });

  test('has the command', async () => {
    const bin = join(folder, 'node_modules/.bin/gitplane');
    const version = await run(bin, ['version']);
    expect(version.stdout).toMatch(/^gitplane \d/);
    const { code, stdout } = await run(bin, ['validate', join(installed, 'examples/platform')]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('no errors')]);
  });

  test('has the engine of endpoint patches, with types', async () => {
    writeFileSync(join(folder, 'patches.mjs'), PATCHES);
    const { stdout, stderr } = await run(process.execPath, [join(folder, 'patches.mjs')]);
    expect(stdout, stderr).toBe('db-patched');
    expect(files).toContain('dist/endpoint-patches/library.d.ts');
  });

  test('has declarations of the client that fit its use', async () => {
    writeFileSync(join(folder, 'typed.ts'), TYPED);
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [] },
      ...{ module: 'nodenext', target: 'es2023', lib: ['es2023', 'dom', 'dom.asynciterable'] },
    };
    const project = join(folder, 'tsconfig.json');
    writeFileSync(project, JSON.stringify({ compilerOptions, files: ['typed.ts'] }));
    const compiler = join(ROOT, 'node_modules/.bin/tsc');
    const { code, stdout } = await run(compiler, ['-p', project]);
    expect(stdout).toBe('');
    expect(code).toBe(0);
  });

  describe('the packaged daemon', () => {
    const recorder = join(folder, 'recorder.cjs');
    const dataDir = join(folder, 'data');
    const seed = join(installed, 'examples/platform');
    let daemon: Daemon;

    beforeAll(async () => {
      writeFileSync(recorder, RECORDER);
      daemon = await startDaemon({ main, dataDir, seed, node: ['--require', recorder] });
    });
    afterAll(async () => {
      await daemon?.stop();
    });

    const loaded = () => readFileSync(`${recorder}.loaded`, 'utf8');

    test('serves the tour: reads, an API write, a push, status', async () => {
      expect((await daemon.call('GET', `${API}/teams`)).json().items).toHaveLength(3);
      const body = { spec: { displayName: 'Tour' }, metadata: { name: 'tour' } };
      expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
      const clone = await daemon.clone();
      mkdirSync(join(clone, 'teams'), { recursive: true });
      const team = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: pushed}\n';
      writeFileSync(join(clone, 'teams/pushed.yaml'), team);
      await daemon.git(['add', '.'], clone);
      await daemon.git(['commit', '-qm', 'add a team'], clone);
      const pushed = await daemon.git(['push', '-q'], clone);
      expect(pushed.code, pushed.stderr).toBe(0);
      expect((await daemon.call('GET', `${API}/teams/pushed`)).code).toBe(200);
      const kubeconfig = ['--kubeconfig', join(dataDir, 'kubeconfig')];
      const status = await run(process.execPath, [main, 'status', ...kubeconfig]);
      expect([status.code, status.stdout]).toEqual([0, expect.stringContaining('health      ok')]);
    });

    test('answers the client of the package', async () => {
      writeFileSync(join(folder, 'client.mjs'), CLIENT);
      const env = { NODE_EXTRA_CA_CERTS: join(dataDir, 'tls/ca.crt') };
      const args = [join(folder, 'client.mjs'), daemon.url, daemon.token];
      const { stdout, stderr } = await run(process.execPath, args, { env });
      expect(stdout, stderr).not.toBe('');
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ displayName: 'B', verdict: 'accepted', ok: true, refused: 400, deleted: 'typed' },
        names: ['payments', 'platform', 'pushed', 'storefront', 'tour', 'typed'],
      });
    });

    test('loads no library of a feature that is off', () => {
      expect(loaded()).toContain('lmdb');
      const names = loaded().split('\n');
      expect(names.filter((name) => /library-|@grpc|node-sqlite3|^pg$/.test(name))).toEqual([]);
    });

    test('loads the library of a feature that is turned on', async () => {
      const audit = { enabled: true, path: 'audit.log', dataStoreEndpoint: 'sqlite://audit.db' };
      const body = { spec: { raw: JSON.stringify({ audit }) } };
      const type = 'application/merge-patch+json';
      const { code, text } = await daemon.call('PATCH', `${API}/config/platform`, { body, type });
      expect(code, text).toBe(200);
      await expect.poll(loaded).toContain('library-node-sqlite3-wasm');
      await expect.poll(() => readdirSync(dataDir)).toContain('audit.db');
    });
  });
});
