/** Commits of a push are counted by the manifests that they change, and by the files that have none. */
import { expect, test } from 'vitest';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';
import { ChangedManifests } from '../../../src/registry/pushes/changed-manifests.ts';

test.each<[string, string | undefined]>([
  ['removed files', undefined],
  ['files without documents', '# nothing\n'],
  [
    'files of one manifest',
    'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: a\n',
  ],
])('a push of commits that change %s has a limit', (_, text) => {
  const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
  const entry =
    text === undefined ? undefined : reader.read('a.yaml', '1'.repeat(40), Buffer.from(text));
  const files = new Map(Array.from({ length: 50_000 }, (_, i) => [`${i}.yaml`, entry]));
  const changed = new ChangedManifests();
  for (let i = 0; i < 5; i += 1) changed.add({ changes: [], files, compared: 0 });
  expect(() => changed.add({ changes: [], files, compared: 0 })).toThrow('250000 times');
});
