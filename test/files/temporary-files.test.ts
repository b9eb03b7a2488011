/** Temporary files of a process that is killed with SIGKILL while it writes a secret. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDataDirectory } from '../../src/bootstrap/data-directory.ts';
import { addToKubeconfig } from '../../src/cli/kubeconfig-file.ts';
import { thisOwner } from '../../src/files/owner.ts';
import { removeTemporariesIn, temporaryPath } from '../../src/files/temporary-files.ts';

const src = pathToFileURL(join(import.meta.dirname, '../../src')).href;
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gitplane-temporary-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Runs a module in a process of its own that kills itself with SIGKILL. */
function killed(script: string): void {
  const all = ['--import', tsx, '--input-type=module', '--eval', script, root];
  const { signal, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  expect(signal, stderr).toBe('SIGKILL');
}

const dieAtSync = `
  import { open } from 'node:fs/promises';
  const handle = await open(process.execPath);
  Object.getPrototypeOf(handle).sync = () => process.kill(process.pid, 'SIGKILL');
`;

test.each([
  ['replaceFile', 'kubeconfig'],
  ['createFile', 'age.key'],
  ['replaceFile', 'tls/ca.key'],
  ['createFile', 'oidc/signing.key'],
  ['replaceFile', 'peers/ca.key'],
])('a start removes what a killed %s left of %s', (act, name) => {
  for (const folder of ['tls', 'oidc', 'peers']) mkdirSync(join(root, folder));
  killed(`${dieAtSync}
    import { ${act} } from '${src}/auth/secret-file.ts';
    await ${act}(process.argv[1] + '/${name}', 'secret');`);
  const names = (): string[] =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((at) => at.includes(name));
  expect(names()).toEqual([expect.stringMatching(/\.tmp$/)]);

  openDataDirectory(root);

  expect(names()).toEqual([]);
});

test('a start removes temporary files of the state key that a killed process left', () => {
  killed(`
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.linkSync = () => process.kill(process.pid, 'SIGKILL');
    syncBuiltinESMExports();
    const { loadStateKey } = await import('${src}/state/records/state-key.ts');
    loadStateKey(process.argv[1] + '/state.key');`);
  expect(readdirSync(root)).toEqual([expect.stringMatching(/^state\.key\..*\.tmp$/)]);

  openDataDirectory(root);

  expect(readdirSync(root)).toEqual([]);
});

test('a start removes temporary files of a killed process of an earlier version', () => {
  const file = join(root, 'kubeconfig.0123456789ab.tmp');
  writeFileSync(file, 'token');
  utimesSync(file, 1, 1);

  openDataDirectory(root);

  expect(readdirSync(root)).toEqual([]);
});

test('temporary files of a running process, and other files, stay', async () => {
  const other = spawn(process.execPath, [
    ...['--import', tsx, '--input-type=module', '--eval'],
    `import { temporaryPath } from '${src}/files/temporary-files.ts';
     import { writeFileSync } from 'node:fs';
     writeFileSync(temporaryPath(process.argv[1] + '/kubeconfig'), '');
     console.log('written');
     setInterval(() => {}, 1e6);`,
    root,
  ]);
  onTestFinished(() => void other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  writeFileSync(temporaryPath(join(root, 'age.key')), '');
  for (const name of ['age.key', 'notes.tmp', 'admin.token.unconfirmed']) {
    writeFileSync(join(root, name), '');
    utimesSync(join(root, name), 1, 1);
  }
  const before = readdirSync(root);
  expect(before).toHaveLength(5);

  removeTemporariesIn(root);

  expect(readdirSync(root)).toEqual(before);
});

test('a change of a kubeconfig removes temporary files of that file alone', async () => {
  const dead = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');
  writeFileSync(join(root, `config.${dead}-0123456789ab.tmp`), 'token');
  writeFileSync(join(root, `other.${dead}-0123456789ab.tmp`), 'token');

  await addToKubeconfig([join(root, 'config')], { name: 'one', cluster: {}, user: {} });

  expect(readdirSync(root).sort()).toEqual(['config', `other.${dead}-0123456789ab.tmp`]);
});
