/**
 * The path of a new object. It depends on the tree of the parent commit and on the name of the object
 * alone, so that every replica and every rebuild chooses the same one. It reads the trees that the
 * commit changes anyway, and lists nothing.
 */
import type { JsonObject } from '../../apimachinery/index.ts';
import type { Catalog, TreeView } from '../../catalog/index.ts';
import type { CommitBatch, Repository } from '../../git/index.ts';
import { isFull } from '../../manifests/index.ts';
import type { Sealer } from './sealer.ts';

export interface PlacementContext {
  readonly repository: Pick<Repository, 'readBlobs'>;
  readonly catalog: Catalog;
  readonly view: TreeView;
  /** Absent: secrets are written in plaintext. */
  readonly sealer?: Sealer | undefined;
  /** See `CommitBatch`. */
  readonly readFolder: CommitBatch['readFolder'];
}

export interface NewObject {
  /** Paths for the object, preferred first; the first one is its standard path. */
  readonly newPaths: readonly string[];
  manifest(current: undefined): JsonObject | null;
}

/** The first path whose file exists, else the first one whose folder is not full. Throws SealingError. */
export async function choosePath(context: PlacementContext, created: NewObject): Promise<string> {
  const { catalog } = context;
  const paths = created.newPaths.map((path) => catalog.placeOf(path));
  const [standard = ''] = paths;
  const joined = paths.find((path) => catalog.file(path) !== undefined);
  if (joined !== undefined || paths.length < 2) return joined ?? standard;
  let usable = standard;
  for (const path of paths) {
    if (path !== standard && !(await isLikeStandard(context, created, path))) continue;
    const folder = await context.readFolder(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
    if (folder === undefined) continue;
    usable = path;
    if (!isFull(folder)) break;
  }
  return usable;
}

/** True if a path is read, and if the rule of the standard path in `.sops.yaml` encrypts it. */
async function isLikeStandard(
  { view, sealer, repository }: PlacementContext,
  { newPaths: [standard = ''], manifest }: NewObject,
  path: string,
): Promise<boolean> {
  const { sealing } = view;
  if (!view.includes(path)) return false;
  if (sealing === undefined || sealer === undefined || manifest(undefined) === null) return true;
  const ruleOf = (of: string) => sealer.rules.ruleFor({ path: of, sealing, repository });
  return (await ruleOf(path)) === (await ruleOf(standard));
}
