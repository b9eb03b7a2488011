/** Helm with its default driver: releases of a chart of our kinds, from their first to their end. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, type RunResult, scratchDir, startDaemon } from '../support/daemon.ts';
import { findProgram } from '../support/programs.ts';

const HELM = findProgram('helm');
const title = HELM === undefined ? 'helm (SKIPPED: helm is missing)' : 'helm';
const CORE = '/kubernetes/management/api/v1';
const VALUE = 'value-that-helm-carries';

const TEMPLATE = `
apiVersion: management.gitplane.dev/v1
kind: Team
metadata: {name: {{ .Release.Name }}}
spec: {displayName: {{ .Values.displayName | quote }}}
---
apiVersion: management.gitplane.dev/v1
kind: SharedSecret
metadata: {name: {{ .Release.Name }}-db, namespace: {{ .Release.Namespace }}}
spec: {displayName: {{ .Values.displayName | quote }}, data: {password: {{ b64enc "${VALUE}" }}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}-reader, namespace: {{ .Release.Namespace }}}
rules:
- {apiGroups: [management.gitplane.dev], resources: [sharedsecrets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}-readers, namespace: {{ .Release.Namespace }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}-reader}
subjects: [{kind: User, name: ada, apiGroup: rbac.authorization.k8s.io}]
`;

describe.skipIf(HELM === undefined)(title, () => {
  const home = scratchDir();
  const chart = join(home, 'chart');
  let daemon: Daemon;

  beforeAll(async () => {
    const audit = {
      enabled: true,
      path: 'audit.log',
      policy: { rules: [{ level: 'RequestResponse' }] },
    };
    daemon = await startDaemon();
    const patch = {
      body: { spec: { raw: JSON.stringify({ audit }) } },
      type: 'application/merge-patch+json',
    };
    const { code, text } = await daemon.call('PATCH', `${API}/config/platform`, patch);
    expect(code, text).toBe(200);
    mkdirSync(join(chart, 'templates'), { recursive: true });
    const about = { apiVersion: 'v2', name: 'shop', version: '0.1.0' };
    writeFileSync(join(chart, 'Chart.yaml'), JSON.stringify(about));
    writeFileSync(join(chart, 'values.yaml'), 'displayName: Shop');
    writeFileSync(join(chart, 'templates/all.yaml'), TEMPLATE);
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  function helm(...args: string[]): Promise<RunResult> {
    const env = {
      ...process.env,
      KUBECONFIG: join(daemon.dataDir, 'kubeconfig'),
      HELM_CACHE_HOME: join(home, 'cache'),
      HELM_CONFIG_HOME: join(home, 'config'),
      HELM_DATA_HOME: join(home, 'data'),
    };
    return new Promise((resolve) => {
      execFile(HELM ?? '', args, { env, timeout: 120_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  async function run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await helm(...args);
    expect(code, stderr).toBe(0);
    return stdout;
  }

  async function displayName(): Promise<string> {
    return (await daemon.call('GET', `${API}/teams/shop`)).json().spec.displayName;
  }

  test('installs, lists, upgrades, rolls back and uninstalls', async () => {
    await run('install', 'shop', chart, '-n', 'default');
    expect(await displayName()).toBe('Shop');
    expect(JSON.parse(await run('list', '-A', '-o', 'json'))).toMatchObject([
      { name: 'shop', revision: '1', status: 'deployed' },
    ]);
    await run('upgrade', 'shop', chart, '--set', 'displayName=Larger', '--wait', '--atomic');
    expect(await displayName()).toBe('Larger');
    await run('rollback', 'shop', '1');
    expect(await displayName()).toBe('Shop');
    expect(JSON.parse(await run('history', 'shop', '-o', 'json'))).toMatchObject([
      { revision: 1, status: 'superseded' },
      { revision: 2, status: 'superseded' },
      { revision: 3, status: 'deployed' },
    ]);
    expect(await run('get', 'manifest', 'shop')).toContain('kind: RoleBinding');
    const again = await helm('install', 'shop', chart);
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain('cannot re-use a name that is still in use');
    await run('uninstall', 'shop');
    expect((await daemon.call('GET', `${API}/teams/shop`)).code).toBe(404);
    expect((await daemon.call('GET', `${CORE}/secrets`)).json().items).toEqual([]);
  });

  test('leaves no release in git, in the audit log or readable on the disk, and keeps it over a restart', async () => {
    await run('install', 'kept', chart);
    const path = `${CORE}/namespaces/default/secrets/sh.helm.release.v1.kept.v1`;
    const { type, data } = (await daemon.call('GET', path)).json();
    expect(type).toBe('helm.sh/release.v1');
    const folder = await daemon.clone();
    const { stdout } = await daemon.git(['log', '--all', '-p', '--format=%s'], folder);
    expect(stdout).not.toContain('helm.release');
    const { dataDir } = daemon;
    expect(await daemon.stop()).toBe(0);
    const part = data.release.slice(100, 160);
    const log = readFileSync(join(dataDir, 'audit.log'), 'utf8');
    expect(log).toContain('sh.helm.release.v1.kept.v1');
    for (const file of filesBelow(dataDir)) {
      expect(readFileSync(file).includes(part), file).toBe(false);
    }
    daemon = await startDaemon({ dataDir, seed: undefined });
    expect((await daemon.call('GET', path)).json().data).toEqual(data);
    await run('uninstall', 'kept');
  });

  test('hides its releases from users without rights on secrets', async () => {
    await run('install', 'mine', chart);
    const key = { body: { spec: { user: 'ada', ttl: 600 } } };
    const { spec } = (await daemon.call('POST', `${API}/ownedaccesskeys`, key)).json();
    const path = `${CORE}/namespaces/default/secrets`;
    expect((await daemon.call('GET', path, { token: spec.key })).code).toBe(403);
    expect((await daemon.call('GET', `${CORE}/secrets`, { token: spec.key })).code).toBe(403);
    await run('uninstall', 'mine');
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));
}
