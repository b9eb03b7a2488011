/** Plans of pull requests: each is merged into the followed branch aside, and the result is judged. */
import type { Pull } from '../../forges/index.ts';
import {
  BlobTooLargeError,
  type PushObjection,
  type Remote,
  type TrialMerge,
  withTrialMerge,
} from '../../git/index.ts';
import { type Plan, planOf } from '../../history/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { PushJudge } from '../../registry/index.ts';

export interface PullPlannerParts {
  readonly remote: Pick<Remote, 'fetchCommit'>;
  readonly repository: { readonly gitDir: string; readonly maxPaths?: number | undefined };
  readonly judge: Pick<PushJudge, 'dryRun'>;
  readonly kinds: KindTable;
}

export type PullOutcome =
  | {
      readonly is: 'planned';
      readonly plan: Plan;
      /** Number of removed objects. */
      readonly prunes: number;
      /** Changed files that are or were encrypted. Readers of the forge see no values of them. */
      readonly encrypted: ReadonlySet<string>;
    }
  /** The branch has the commit. */
  | { readonly is: 'merged' }
  | { readonly is: 'conflict'; readonly paths: readonly string[] }
  /** The followed branch moved meanwhile. */
  | { readonly is: 'outdated' }
  /** Beyond a limit. */
  | { readonly is: 'refused'; readonly reasons: readonly string[] };

/** Limits for one pull request, which anybody may have opened. */
const MAX_BYTES = 64 * 2 ** 20;
const MAX_FILES = 5000;

/** `base`: tip of the followed branch. Throws GitError and RemoteError. */
export async function planPull(
  { remote, repository, judge, kinds }: PullPlannerParts,
  { commit: head }: Pick<Pull, 'commit'>,
  base: string,
): Promise<PullOutcome> {
  const { gitDir, maxPaths } = repository;
  const options = { remote, gitDir, maxPaths, maxBytes: MAX_BYTES };
  return await withTrialMerge(options, { base, head }, async (trial): Promise<PullOutcome> => {
    if (trial.is === 'contained') return { is: 'merged' };
    if (trial.is === 'conflict') return trial;
    if (trial.is === 'refused') return { is: 'refused', reasons: trial.objections.map(describe) };
    const { source, commit } = trial;
    const changes = await source.diff(base, commit);
    if (changes.length > MAX_FILES) {
      const reason = `it changes ${changes.length} files, more than ${MAX_FILES}`;
      return { is: 'refused', reasons: [reason] };
    }
    const dryRun = await judge.dryRun({ to: commit, source, signed: head });
    const { from } = dryRun;
    if (from !== undefined && !(await source.isAncestor(from, commit))) return { is: 'outdated' };
    const plan = await planOf(kinds, head, dryRun);
    const encrypted = await encryptedIn(source, changes, plan);
    return { is: 'planned', plan, prunes: dryRun.prunes.length, encrypted };
  });
}

function describe({ path, problem }: PushObjection): string {
  return path === undefined ? problem : `${path}: ${problem}`;
}

type Source = Extract<TrialMerge, { is: 'merged' }>['source'];

/** One file is in memory at a time: 64 MiB of objects can unpack to far more. */
async function encryptedIn(
  source: Pick<Source, 'readBlobs'>,
  changed: Awaited<ReturnType<Source['diff']>>,
  { changes }: Plan,
): Promise<ReadonlySet<string>> {
  const ofObjects = new Set(
    changes.flatMap(({ path, previousPath }) => [path, ...(previousPath ? [previousPath] : [])]),
  );
  const found = new Set<string>();
  for (const { path, oldId, newId } of changed) {
    if (!ofObjects.has(path)) continue;
    for (const id of [oldId, newId]) {
      if (id !== undefined && (await isEncryptedBlob(source, id))) found.add(path);
    }
  }
  return found;
}

/** Also true for a file that is too large to be read. */
async function isEncryptedBlob(source: Pick<Source, 'readBlobs'>, id: string): Promise<boolean> {
  try {
    const [blob] = await source.readBlobs([id]);
    return isEncrypted(blob?.toString('utf8') ?? '');
  } catch (error) {
    if (error instanceof BlobTooLargeError) return true;
    throw error;
  }
}

/** Also true for some files that only mention encryption. */
function isEncrypted(text: string): boolean {
  return text.includes('ENC[') || /\bsops\b/.test(text);
}
