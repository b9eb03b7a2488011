/** Warnings about folders that a push makes wider than is good for every later write. */
import type { Repository } from '../../git/index.ts';
import type { Problem } from '../../manifests/index.ts';

/** Entries above which a wider folder gets a warning. */
const WARNED_ENTRIES = 5000;

export async function wideningWarnings(
  repository: Pick<Repository, 'folderWidths'>,
  { from, to }: { readonly from: string | undefined; readonly to: string },
): Promise<Problem[]> {
  const after = (await repository.folderWidths(to)).wide;
  const warned = after.filter(({ entries }) => entries > WARNED_ENTRIES);
  if (warned.length === 0) return [];
  const before = from === undefined ? [] : (await repository.folderWidths(from)).wide;
  const widthBefore = new Map(before.map(({ path, entries }) => [path, entries]));
  return warned
    .filter(({ path, entries }) => entries > (widthBefore.get(path) ?? 0))
    .map(({ path, entries, bytes }) => ({
      path: path === '' ? '.' : path,
      line: 1,
      col: 1,
      message: `The folder has ${entries} entries, and each commit that changes one of them writes ${Math.round(bytes / 1024)} KiB; "gitplane repo fan-out ${path}" spreads them over subfolders`,
    }));
}
