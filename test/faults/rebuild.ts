/** Whether a daemon that starts from history alone serves the same (design, invariant 9). */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { API, type Daemon, RBAC, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { gitEnv } from '../support/git.ts';

const COLLECTIONS = [
  ...['teams', 'users', 'sharedsecrets', 'projectsecrets', 'config'].map(
    (name) => `${API}/${name}`,
  ),
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
    (name) => `${RBAC}/${name}`,
  ),
];

/** One line for each object that differs. `args`: what the daemon was started with as well. */
export async function rebuildDifferences(
  daemon: Daemon,
  args: readonly string[] = [],
): Promise<string[]> {
  const dataDir = join(scratchDir('gitplane-rebuild-'), 'data');
  const source = join(daemon.dataDir, 'repo.git');
  const target = join(dataDir, 'repo.git');
  const clone = await run('git', ['clone', '-q', '--no-local', '--bare', source, target], {
    env: gitEnv,
  });
  if (clone.code !== 0) throw new Error(`git clone failed: ${clone.stderr}`);
  // Secrets are sealed in git: history alone and its key.
  copyFileSync(join(daemon.dataDir, 'age.key'), join(dataDir, 'age.key'));
  const rebuilt = await startDaemon({ dataDir, seed: undefined, args });
  try {
    const differences = [];
    for (const path of COLLECTIONS) {
      const [one, other] = [await read(daemon, path), await read(rebuilt, path)];
      for (const name of new Set([...one.keys(), ...other.keys()])) {
        const [mine, theirs] = [one.get(name), other.get(name)];
        if (isDeepStrictEqual(mine, theirs)) continue;
        differences.push(
          `${path} ${name}: ${JSON.stringify(mine)} became ${JSON.stringify(theirs)}`,
        );
      }
    }
    return differences;
  } finally {
    await rebuilt.stop();
  }
}

/** Without what only the state knows. Objects that finalizers hold are in no history. */
async function read(daemon: Daemon, path: string): Promise<Map<string, unknown>> {
  const { items } = (await daemon.call('GET', path)).json();
  const objects = new Map<string, unknown>();
  for (const item of items) {
    const { resourceVersion: _version, managedFields: _fields, ...metadata } = item.metadata;
    if (metadata.deletionTimestamp !== undefined) continue;
    objects.set(`${metadata.namespace ?? ''}/${metadata.name}`, { ...item, metadata });
  }
  return objects;
}
