/**
 * Clients that take long to build, or have to be brought along: the library of Argo CD, the official
 * Python client, Terraform. `npm run clients` runs them and says which are missing; the ordinary tests
 * leave them out.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  API,
  type Daemon,
  type RunResult,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { failedClaims, goProgram } from './program.ts';

const LIMIT = 1_800_000;
/** A folder with the program `terraform-provider-kubernetes`. */
const PROVIDER = process.env['GITPLANE_TERRAFORM_PROVIDER'];

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('clients', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const kubeconfig = (): string => join(daemon.dataDir, 'kubeconfig');

  test(
    'gitops-engine syncs in waves with hooks, sees drift, heals it and prunes',
    async (context) => {
      const program = goProgram({ folder: join(import.meta.dirname, 'gitops-engine') });
      if (program === undefined) return context.skip();
      expect(await failedClaims(program, [kubeconfig()])).toEqual([]);
    },
    LIMIT,
  );

  test(
    'the Python client creates, patches, applies, pages and watches',
    async (context) => {
      const python = pythonWithClient();
      if (python === undefined) return context.skip();
      const program = join(import.meta.dirname, 'python/main.py');
      expect(await failedClaims(python, [program, kubeconfig()])).toEqual([]);
    },
    LIMIT,
  );

  test(
    'Terraform plans, applies, changes, heals drift, imports and destroys',
    async (context) => {
      if (PROVIDER === undefined || !existsSync(join(PROVIDER, 'terraform-provider-kubernetes'))) {
        return skipped(
          'Terraform',
          'GITPLANE_TERRAFORM_PROVIDER names no folder with its provider',
          () => context.skip(),
        );
      }
      const terraform = workspace(PROVIDER, kubeconfig());
      const settled = async (name: string): Promise<void> => {
        const { code, stdout } = await terraform(['plan', '-detailed-exitcode'], name);
        expect(code, stdout).toBe(0);
      };
      await terraform(['apply', '-auto-approve'], 'One', 0);
      await settled('One');
      await terraform(['apply', '-auto-approve'], 'Two', 0);
      const path = `${API}/teams/terraformed`;
      expect((await daemon.call('GET', path)).json().spec.displayName).toBe('Two');
      await daemon.call('PATCH', path, {
        body: { spec: { displayName: 'Drifted', users: ['ada'] } },
        type: 'application/merge-patch+json',
      });
      expect((await terraform(['plan', '-detailed-exitcode'], 'Two')).code).toBe(2);
      await terraform(['apply', '-auto-approve'], 'Two', 0);
      expect((await daemon.call('GET', path)).json().spec).toMatchObject({
        displayName: 'Two',
        users: ['ada', 'bob'],
      });
      await terraform(['state', 'rm', 'kubernetes_manifest.team'], 'Two', 0);
      const id = 'apiVersion=management.gitplane.dev/v1,kind=Team,name=terraformed';
      await terraform(['import', 'kubernetes_manifest.team', id], 'Two', 0);
      await terraform(['apply', '-auto-approve'], 'Two', 0);
      await settled('Two');
      await terraform(['destroy', '-auto-approve'], 'Two', 0);
      expect((await daemon.call('GET', path)).code).toBe(404);
    },
    LIMIT,
  );
});

function skipped(client: string, why: string, skip: () => void): void {
  process.stderr.write(`\n${client} is SKIPPED: ${why}\n\n`);
  skip();
}

/** A Python of its own with the client in it, from the package index. */
function pythonWithClient(): string | undefined {
  const folder = scratchDir('gitplane-python-');
  const python = join(folder, 'bin/python');
  const made = spawnSync('python3', ['-m', 'venv', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', 'kubernetes'];
  if (made.status === 0 && spawnSync(python, pip).status === 0) return python;
  process.stderr.write('\nThe Python client is SKIPPED: it cannot be installed\n\n');
  return undefined;
}

type Terraform = (
  words: readonly string[],
  displayName: string,
  expected?: number,
) => Promise<RunResult>;

function workspace(provider: string, kubeconfig: string): Terraform {
  const folder = scratchDir('gitplane-terraform-');
  cpSync(join(import.meta.dirname, 'terraform'), folder, { recursive: true });
  const config = join(folder, 'terraform.rc');
  writeFileSync(
    config,
    `provider_installation {\n  dev_overrides {\n    "hashicorp/kubernetes" = "${provider}"\n  }\n  direct {}\n}\n`,
  );
  return async ([command = '', ...words], displayName, expected) => {
    const quiet = command === 'state' ? [] : ['-no-color', '-input=false'];
    const done = await run('terraform', [command, ...quiet, ...words], {
      cwd: folder,
      env: {
        ...process.env,
        TF_CLI_CONFIG_FILE: config,
        CHECKPOINT_DISABLE: '1',
        TF_VAR_kubeconfig: kubeconfig,
        TF_VAR_display: displayName,
      },
    });
    if (expected !== undefined) expect(done.code, done.stdout + done.stderr).toBe(expected);
    return done;
  };
}
