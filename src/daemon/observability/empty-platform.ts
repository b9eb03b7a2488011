/** Reason why a platform has no object of its own: mostly an option that names another place. */
import { type BareRepository, runGit } from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { MANIFEST_ENDINGS, MANIFEST_EXTENSION } from '../../manifests/index.ts';
import type { Branch } from '../../registry/index.ts';
import type { DaemonOptions } from '../options.ts';

const MOST_NAMES = 5;
/** A former start made it in the same place. */
const ADMINISTRATOR = 'admin';

interface Place {
  readonly branch: Branch;
  readonly repository: BareRepository;
  readonly kinds: KindTable;
}

/** Undefined: the platform has objects of its group, or the repository is new. */
export async function emptyPlatform(
  { branch, repository, kinds }: Place,
  { under, branch: name, apiGroup }: Pick<DaemonOptions, 'under' | 'branch' | 'apiGroup'>,
): Promise<string | undefined> {
  const { revision, catalog } = branch.state;
  if (revision === undefined) return undefined;
  const isOwn = (key: { group: string; name: string }): boolean =>
    key.group === kinds.groups[0] && key.name !== ADMINISTRATOR;
  for (const { key } of catalog.objects()) if (isOwn(key)) return undefined;
  const manifests = { under: '', endings: MANIFEST_ENDINGS, others: [] };
  const files = await repository.listFiles(revision, manifests);
  const folders = new Set(
    files.flatMap(({ path }) => (path.includes('/') ? [path.slice(0, path.indexOf('/'))] : [])),
  );
  if (folders.size === 0) return await otherBranches(repository.gitDir, name);
  const [problem] = catalog.problems().filter(({ path }) => MANIFEST_EXTENSION.test(path));
  if (problem !== undefined) {
    const { path, line, col, message } = problem;
    return `no manifest has an object of the group ${apiGroup}: check --api-group. The first problem is ${path}:${line}:${col}: ${message}`;
  }
  if (under === '') return undefined;
  const names = [...folders].slice(0, MOST_NAMES).join(', ');
  return `the folder ${under} of ${name} has no manifest: check --path. Folders with manifests: ${names}`;
}

/** Undefined: the repository has no other branch. */
export async function otherBranches(gitDir: string, name: string): Promise<string | undefined> {
  const count = `--count=${MOST_NAMES}`;
  const args = ['for-each-ref', '--format=%(refname:lstrip=2)', count, 'refs/heads/'];
  const lines = (await runGit({ gitDir }, args)).toString().split('\n');
  const others = lines.filter((line) => line !== '' && line !== name);
  if (others.length === 0) return undefined;
  return `the branch ${name} has no manifest: check --branch. Other branches: ${others.join(', ')}`;
}
