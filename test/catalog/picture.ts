/** Public contents of a catalog, for comparing two that must not differ. */
import { keyString } from '../../src/apimachinery/key.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';

/** Everything that a catalog knows, in an order that does not depend on how it came about. */
export function picture(catalog: Catalog): unknown {
  const byText = (a: string, b: string): number => (a < b ? -1 : 1);
  const objects = [...catalog.objects()]
    .map(({ key, place, identity, manifest, problems, ownerBinding }) => {
      const { uid, introducedBy, creationTimestamp, generation } = identity;
      const lived = { uid, introducedBy, creationTimestamp, generation };
      return { id: keyString(key), key, place, manifest, problems, ownerBinding, ...lived };
    })
    .sort((a, b) => byText(a.id, b.id));
  const files = [...catalog.files()]
    .map(({ path, blob, documents }) => ({
      path,
      blob,
      // Warnings are seen by pushers only.
      documents: documents.map(({ index, key, manifest, problems, line }) => {
        return { index, key, manifest, problems, line };
      }),
    }))
    .sort((a, b) => byText(a.path, b.path));
  const claims = objects.map(({ key }) => {
    const places = catalog.claims(key).map(({ path, index }) => `${path}#${index}`);
    return places.sort(byText);
  });
  const { at, rootCommit } = catalog;
  // By way of JSON: a field that is undefined is one that is not there.
  return JSON.parse(
    JSON.stringify({ at, rootCommit, objects, files, claims, problems: catalog.problems() }),
  );
}
