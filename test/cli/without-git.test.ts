/** Commands that read commits and need no git binary. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { patches } from '../../src/cli/patches.ts';
import { plan } from '../../src/cli/plan.ts';
import { validate } from '../../src/cli/validate.ts';
import {
  PATCHES_OPTIONS,
  PLAN_OPTIONS,
  VALIDATE_OPTIONS,
} from '../../src/options/manifest-options.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import { git, temporaryFolder } from '../support/git.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const team = (name: string, displayName: string): string =>
  `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: ${name}}\nspec: {displayName: ${displayName}}\n`;

const tenant = (port: number): string =>
  `sync:\n  toHost:\n    endpoints:\n      enabled: true\n      patches:\n        - path: subsets[*].ports[*].port\n          expression: '${port}'\n`;

/** A clone of two commits; the second is wrong in one file. */
function clone(): string {
  const folder = temporaryFolder();
  git(folder, ['init', '-q', '-b', 'main', '.']);
  const commit = (files: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git(folder, ['add', '-A']);
    git(folder, ['commit', '-qm', 'next']);
  };
  commit({ 'teams/a.yaml': team('a', 'A'), 'tenants/blue/vcluster.yaml': tenant(1111) });
  commit({ 'teams/b.yaml': team('b', '[]'), 'tenants/blue/vcluster.yaml': tenant(2222) });
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  return folder;
}

const OFF = '/nonexistent';

async function printed(
  run: (out: { write(text: string): void }) => Promise<number>,
): Promise<{ status: number; text: string }> {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  const status = await run({ write });
  return { status, text };
}

test.each([true, false])('a plan is the same with git (%s) and without', async (hasGit) => {
  const folder = clone();
  if (!hasGit) vi.stubEnv('PATH', OFF);
  const args = ['--repo-dir', folder, '--base', 'HEAD~1', '--format', 'json', 'HEAD'];
  const { status, text } = await printed((out) => plan(parseOptions(PLAN_OPTIONS, args), out));
  expect(status).toBe(1);
  expect(JSON.parse(text)).toMatchObject({
    verdict: 'refused',
    problems: [{ path: 'teams/b.yaml', message: expect.stringContaining('spec.displayName') }],
  });
});

test.each([true, false])('validate --rev reads that commit, with git (%s)', async (hasGit) => {
  const folder = clone();
  if (!hasGit) vi.stubEnv('PATH', OFF);
  const check = (...args: string[]) =>
    printed((out) => validate(parseOptions(VALIDATE_OPTIONS, args), out));
  expect(await check('--rev', 'HEAD~1', folder)).toEqual({
    status: 0,
    text: expect.stringMatching(/files? read, no errors/),
  });
  const newest = await check('--rev', 'HEAD', join(folder, 'teams'));
  expect(newest.status).toBe(1);
  expect(newest.text).toContain('teams/b.yaml:4:');
  await expect(check('--rev', 'nothing')).rejects.toThrow('There is no commit "nothing" in');
});

test('validate --rev takes the folder with an ignore file for the platform, as on the disk', async () => {
  const folder = clone();
  writeFileSync(join(folder, 'teams', '.gitplaneignore'), 'b.yaml\n');
  git(folder, ['add', '-A']);
  git(folder, ['commit', '-qm', 'ignored']);
  const target = join(folder, 'teams');
  for (const rev of [[], ['--rev', 'HEAD']]) {
    const options = parseOptions(VALIDATE_OPTIONS, [...rev, target]);
    expect(await printed((out) => validate(options, out))).toEqual({
      status: 0,
      text: '1 file read, no errors\n',
    });
  }
});

test('patches test --rev reads the configuration of that commit', async () => {
  const folder = clone();
  vi.stubEnv('PATH', OFF);
  const input = join(folder, 'objects.yaml');
  writeFileSync(
    input,
    'apiVersion: v1\nkind: Endpoints\nmetadata: {name: e, namespace: n}\nsubsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]\n',
  );
  const file = join(folder, 'tenants/blue/vcluster.yaml');
  const tried = async (...args: string[]) => {
    const given = ['-f', file, '-i', input, '-o', 'json', ...args, 'test'];
    const around = { stdin: process.stdin };
    return await printed((out) =>
      patches(parseOptions(PATCHES_OPTIONS, given), { ...around, out }),
    );
  };
  expect((await tried('--rev', 'HEAD~1')).text).toContain('1111');
  expect((await tried('--rev', 'HEAD')).text).toContain('2222');
  await expect(tried('--rev', 'HEAD', '-f', join(folder, 'none.yaml'))).rejects.toThrow(
    /Cannot read .*none.yaml: commit \w+ has no such file/,
  );
});
