/** Objects after merges. */
import { describe, expect, test } from 'vitest';
import type { CatalogObject } from '../../src/catalog/catalog-object.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { replay } from '../../src/catalog/replay.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { openForTest } from '../support/git.ts';
import { writeCommits } from './random-history.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
const key = { group: 'management.gitplane.dev', kind: 'Team', namespace: '', name: 'a' };

function team(text: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: a\nspec:\n  displayName: ${text}\n`;
}

/** A commit: its parents by number, from 1, and the text of `a.yaml` in it, if that is there. */
type Line = readonly [parents: readonly number[], text: string | undefined];

/** The object `a` at each of the commits. */
async function lives(...lines: readonly Line[]): Promise<(CatalogObject | undefined)[]> {
  const repository = await openForTest();
  const commits = lines.map(([parents, text], i) => ({
    mark: i + 1,
    parents,
    files: new Map(text === undefined ? [] : [['a.yaml', text]]),
  }));
  const objects: (CatalogObject | undefined)[] = [];
  for (const id of writeCommits(repository.gitDir, commits)) {
    const { catalog } = await replay({ repository, reader, under: '' }, id);
    objects.push(catalog.object(key));
  }
  return objects;
}

describe.each([
  ['the line that is served comes first', (a: number, b: number) => [a, b]],
  ['the line that is served comes second', (a: number, b: number) => [b, a]],
])('a merge of which %s', (_which, order) => {
  test('a generation does not fall, even where both lines have the same manifest again', async () => {
    const objects = await lives(
      [[], team('one')],
      [[1], team('two')],
      [[2], team('one')],
      [[1], team('one')],
      [order(3, 4), team('one')],
    );

    expect(objects.map((object) => object?.identity.generation)).toEqual([1, 2, 3, 1, 3]);
  });

  test('the same manifest added by both is the object that was there first', async () => {
    const objects = await lives(
      [[], undefined],
      [[1], team('one')],
      [[1], team('one')],
      [order(2, 3), team('one')],
    );

    const first = [objects[1], objects[2]]
      .map((object) => object?.identity)
      .sort((a, b) => ((a?.creationTimestamp ?? '') < (b?.creationTimestamp ?? '') ? -1 : 1))[0];
    expect(objects[3]?.identity).toEqual(first);
  });

  test('an object that comes to an empty line is the one of the other line', async () => {
    const objects = await lives(
      [[], undefined],
      [[1], undefined],
      [[1], team('one')],
      [[3], team('two')],
      [order(2, 4), team('two')],
    );

    expect(objects[4]?.identity).toEqual(objects[3]?.identity);
    expect(objects[4]?.identity.generation).toBe(2);
  });

  test('a recreated object survives the merge of a line with the old one', async () => {
    const objects = await lives(
      [[], team('one')],
      [[1], undefined],
      [[2], team('two')],
      [[1], team('one')],
      [order(3, 4), team('two')],
    );

    expect(objects[4]?.identity).toEqual(objects[2]?.identity);
    expect(objects[4]?.identity.uid).not.toBe(objects[0]?.identity.uid);
  });

  test('an object whose manifest the merge breaks is still the one that was there', async () => {
    const objects = await lives(
      [[], undefined],
      [[1], team('one')],
      [[2], team('two')],
      [[1], team('three')],
      [order(3, 4), team('[1]')],
    );

    const olds = [objects[2], objects[3]];
    const uid = objects[4]?.identity.uid;
    const kept = olds.find((object) => object?.identity.uid === uid);
    expect(kept?.identity.creationTimestamp).toBe(
      olds.map((object) => object?.identity.creationTimestamp).sort()[0],
    );
    expect(objects[4]?.problems).not.toEqual([]);
  });
});
