/** Comparison of the manifests of a step with those before, ahead of the step. */
import { Yielding } from '../apimachinery/index.ts';
import type { Catalog } from './catalog.ts';
import { compareAhead } from './catalog-object.ts';
import type { FileEntry } from './file.ts';

/** Compares the manifests of each object in advance, yielding to the event loop. */
export async function compareManifests(
  catalog: Pick<Catalog, 'object'>,
  files: Iterable<FileEntry | undefined>,
): Promise<void> {
  const pauses = new Yielding();
  for (const file of files) {
    for (const document of file?.documents ?? []) {
      const { key, problems } = document;
      const before = key && problems.length === 0 ? catalog.object(key) : undefined;
      if (before !== undefined) compareAhead(before.source, document);
      await pauses.take();
    }
  }
}
