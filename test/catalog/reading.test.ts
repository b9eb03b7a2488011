import { describe, expect, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import { buildKindTable } from '../../src/kinds/table.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');

describe('reading many files', () => {
  test('lets others have the processor in between', async () => {
    const content = Buffer.from(
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: !!map {}\n',
    );
    const paths = Array.from({ length: 400 }, (_, i) => ({
      path: `${i}.yaml`,
      id: String(i),
      mode: '100644',
    }));
    const source = {
      readBlobs: async (ids: readonly string[]) => ids.map(() => content),
      listFiles: async () => [],
    };
    let others = 0;
    const timer = setInterval(() => others++, 1);

    await readPaths(source, reader, paths);

    clearInterval(timer);
    expect(others).toBeGreaterThan(0);
  });
});
