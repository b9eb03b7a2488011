/**
 * The action for GitHub and the template for GitLab. There is no runner of either: their steps run as shell
 * steps, as a runner starts them, with the packed package.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Daemon, EXAMPLE_PLATFORM, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { git, gitEnv } from '../support/git.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = scratchDir();
const work = join(folder, 'work');
let tarball = '';

interface Step {
  readonly name: string;
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run?: string;
}

type Files = Readonly<Record<string, string>>;

const BROKEN = {
  'teams/broken.yaml':
    'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: broken\nspecs: {}\n',
};
const GOOD = {
  'teams/good.yaml':
    'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: good\nspec: {}\n',
};

function commit(files: Files): void {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(work, path), text);
  git(work, ['add', '-A']);
  git(work, ['commit', '-q', '--allow-empty', '-m', 'change']);
}

/** A clone as a pipeline has it: at a merge of the change, or at the change where the branch went on. */
function checkOut(files: Files, { isBehind = false } = {}): void {
  git(work, ['checkout', '-q', '-B', 'topic', 'origin/main']);
  commit(files);
  if (!isBehind) return;
  git(work, ['checkout', '-q', '-B', 'main', 'origin/main']);
  commit({ 'README.md': `${Math.random()}` });
  git(work, ['push', '-q', 'origin', 'main']);
  git(work, ['checkout', '-q', 'topic']);
}

async function bash(
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<Awaited<ReturnType<typeof run>>> {
  const file = join(scratchDir(), 'step.sh');
  writeFileSync(file, script);
  const args = ['--noprofile', '--norc', '-eo', 'pipefail', file];
  return await run('bash', args, {
    cwd: work,
    env: { ...gitEnv, PATH: process.env['PATH'], ...env },
  });
}

beforeAll(async () => {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 1e8 });
  tarball = join(folder, JSON.parse(stdout)[0].filename);
  const origin = join(folder, 'origin.git');
  mkdirSync(origin);
  git(origin, ['init', '-q', '--bare', '-b', 'main', '.']);
  cpSync(EXAMPLE_PLATFORM, work, { recursive: true });
  git(work, ['init', '-q', '-b', 'main']);
  git(work, ['remote', 'add', 'origin', origin]);
  writeFileSync(join(work, '.git/info/exclude'), 'gl-code-quality-report.json\n');
  commit({});
  git(work, ['push', '-q', 'origin', 'main']);
  git(work, ['fetch', '-q', 'origin']);
}, 120_000);

describe('the action', () => {
  const { inputs, runs } = parse(
    readFileSync(join(ROOT, 'examples/github-action/action.yml'), 'utf8'),
  );
  const temp = join(folder, 'runner');
  const path = join(temp, 'path');
  const summary = join(temp, 'summary');
  let daemon: Daemon | undefined;

  afterAll(async () => {
    await daemon?.stop();
  });

  async function step(
    name: string,
    given: Readonly<Record<string, string>> = {},
    more: Readonly<Record<string, string>> = {},
  ): Promise<Awaited<ReturnType<typeof run>> & { readonly summary: string }> {
    const steps: readonly Step[] = runs.steps;
    const found = steps.find((one) => one.name === name);
    const env = Object.entries(found?.env ?? {}).map(([key, text]) => {
      const [, input = ''] = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(text) ?? [];
      expect(Object.keys(inputs)).toContain(input);
      return [key, given[input] ?? inputs[input].default];
    });
    mkdirSync(temp, { recursive: true });
    writeFileSync(summary, '');
    const added = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
    const result = await bash(found?.run ?? 'exit 99', {
      ...{ RUNNER_TEMP: temp, GITHUB_PATH: path, GITHUB_STEP_SUMMARY: summary },
      PATH: [...added, process.env['PATH']].join(':'),
      ...Object.fromEntries(env),
      ...more,
    });
    return { ...result, summary: readFileSync(summary, 'utf8') };
  }

  const ofPull = { GITHUB_BASE_REF: 'main' };

  test('has no expression in a script, where a text of others would become a command', () => {
    for (const { run: script = '' } of runs.steps as readonly Step[]) {
      expect(script).not.toContain('${{');
    }
  });

  test('installs the package', async () => {
    const { code, stderr } = await step('Install', { package: tarball });
    expect(code, stderr).toBe(0);
    expect(existsSync(join(temp, 'gitplane/bin/gitplane'))).toBe(true);
  }, 120_000);

  test('annotates a broken manifest at its line, and passes a good one', async () => {
    checkOut(BROKEN);
    const broken = await step('Validate');
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(/^::error file=teams\/broken.yaml,line=5,col=1::.*specs/m);
    checkOut(GOOD);
    const good = await step('Validate', { paths: 'teams\nusers\n' });
    expect([good.code, good.stdout]).toEqual([0, '']);
  });

  test('writes the plan of a pull request to the summary, and makes none elsewhere', async () => {
    checkOut(GOOD);
    const plan = await step('Plan', {}, ofPull);
    expect(plan.code, plan.stderr).toBe(0);
    expect(plan.summary).toContain('    + Team "good" (teams/good.yaml)');
    expect(plan.summary).toContain('    accepted: 1 created');
    const push = await step('Plan');
    expect([push.code, push.summary]).toEqual([0, '']);
    checkOut(BROKEN);
    const broken = await step('Plan', {}, ofPull);
    expect(broken.code).toBe(1);
    expect(broken.summary).toContain('    refused: ');
  });

  test('shows differences from a platform, and leaves no credentials behind', async () => {
    const none = await step('Differences');
    expect([none.code, none.summary]).toEqual([0, '']);
    daemon = await startDaemon();
    checkOut(GOOD);
    const kubeconfig = readFileSync(join(daemon.dataDir, 'kubeconfig'), 'utf8');
    const differences = await step('Differences', { paths: 'teams/good.yaml', kubeconfig });
    expect(differences.code, differences.stderr).toBe(0);
    expect(differences.summary).toMatch(/ {4}.*good/);
    expect(existsSync(join(temp, 'gitplane.kubeconfig'))).toBe(false);
    const wrong = await step('Differences', { kubeconfig: 'nonsense' });
    expect(wrong.code).toBe(2);
    expect(existsSync(join(temp, 'gitplane.kubeconfig'))).toBe(false);
  });
});

describe('the template', () => {
  const { variables, ...jobs } = parse(
    readFileSync(join(ROOT, 'examples/gitlab/gitplane.gitlab-ci.yml'), 'utf8'),
  );
  const prefix = join(folder, 'global');
  const report = join(work, 'gl-code-quality-report.json');

  async function job(name: string): Promise<Awaited<ReturnType<typeof run>>> {
    const { extends: base, script } = jobs[name];
    return await bash([...jobs[base].before_script, ...script].join('\n'), {
      ...variables,
      PLATFORM_PACKAGE: tarball,
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main',
      npm_config_prefix: prefix,
      PATH: `${prefix}/bin:${process.env['PATH']}`,
    });
  }

  test('reports a broken manifest as code quality', async () => {
    checkOut(BROKEN);
    const { code, stdout } = await job('gitplane-validate');
    expect(code).toBe(1);
    expect(stdout).toContain('teams/broken.yaml:5:1: ');
    const findings = JSON.parse(readFileSync(report, 'utf8'));
    expect(findings).toContainEqual({
      description: expect.stringContaining('specs'),
      check_name: 'gitplane',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      severity: 'major',
      location: { path: 'teams/broken.yaml', lines: { begin: 5 } },
    });
    const prints = findings.map(({ fingerprint }: { fingerprint: string }) => fingerprint);
    expect(new Set(prints).size).toBe(prints.length);
  }, 120_000);

  test('reports nothing of good manifests', async () => {
    checkOut(GOOD);
    const { code, stderr } = await job('gitplane-validate');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(readFileSync(report, 'utf8'))).toEqual([]);
  }, 120_000);

  test('plans a branch that fell behind as it will be merged', async () => {
    checkOut(GOOD, { isBehind: true });
    const { code, stdout, stderr } = await job('gitplane-plan');
    expect(code, stderr + stdout).toBe(0);
    expect(stdout).toContain('+ Team "good" (teams/good.yaml)');
    expect(stdout).toContain('accepted: 1 created');
  }, 120_000);
});
