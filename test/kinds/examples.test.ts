/** The seed platform: valid, complete, and a good example. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { accessKeyProblems, isConcealedAccessKey } from '../../src/kinds/credentials/access-key.ts';
import { schemaNames } from '../../src/kinds/schema/schema-files.ts';
import { problems, table } from './objects.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FILES = readdirSync(join(ROOT, 'examples/platform'), { recursive: true })
  .map((file) => join('examples/platform', String(file)))
  .filter((file) => file.endsWith('.yaml'))
  .sort();

function read(file: string): KubeObject[] {
  return parseAllDocuments(readFileSync(join(ROOT, file), 'utf8')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as KubeObject;
  });
}

const OBJECTS = FILES.flatMap((file) => read(file).map((object) => ({ file, object })));

describe.each(FILES)('%s', (file) => {
  test('is valid and uses nothing deprecated', () => {
    for (const object of read(file)) {
      const kind = table.byKind(object.apiVersion, object.kind);
      expect(kind?.nameRule(object.metadata.name ?? '')).toEqual([]);
      expect(problems(object)).toEqual([]);
      expect(kind?.warnings(object)).toEqual([]);
    }
  });

  test('begins with a schema that editors find and that fits', () => {
    const [, path = ''] =
      /^# yaml-language-server: \$schema=(.*)\n/.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
    const name = /^schemas\/(.*)\.json$/.exec(join(dirname(file), path))?.[1] ?? '';
    expect(schemaNames()).toContain(name);
    const kinds = new Set(read(file).map((object) => object.kind));
    const only = table.kinds.find((kind) => kinds.size === 1 && kinds.has(kind.kind));
    expect(name).toBe(only?.schema ?? 'manifest');
  });
});

test.each([
  ['Team', 3],
  ['SharedSecret', 3],
  ['User', 2],
  ['OwnedAccessKey', 2],
  ['Config', 1],
  ['ClusterRole', 1],
  ['ClusterRoleBinding', 1],
])('has %s, at least %i', (kind, count) => {
  expect(OBJECTS.filter(({ object }) => object.kind === kind).length).toBeGreaterThanOrEqual(count);
});

test('has shared secrets in two namespaces', () => {
  const namespaces = OBJECTS.filter(({ object }) => object.kind === 'SharedSecret').map(
    ({ file }) => file.split('/')[3],
  );
  expect(new Set(namespaces).size).toBeGreaterThanOrEqual(2);
});

test('has a file with several documents', () => {
  expect(FILES.some((file) => read(file).length > 1)).toBe(true);
});

test('has no object twice', () => {
  const names = OBJECTS.map(({ object, file }) => {
    const namespace = object.metadata.namespace ?? /namespaces\/([^/]+)\//.exec(file)?.[1] ?? '';
    return `${object.kind}/${namespace}/${object.metadata.name}`;
  });
  expect(new Set(names).size).toBe(names.length);
});

test('holds keys as hashes only', () => {
  for (const { object } of OBJECTS.filter(({ object }) => object.kind === 'OwnedAccessKey')) {
    const key = String(object.spec?.['key']);
    expect(isConcealedAccessKey(key)).toBe(true);
    expect(accessKeyProblems(key)).toEqual([]);
  }
});

test('refers only to users and teams that exist', () => {
  const names = (kind: string): Set<unknown> =>
    new Set(
      OBJECTS.filter(({ object }) => object.kind === kind).map(
        ({ object }) => object.metadata.name,
      ),
    );
  const text = JSON.stringify(OBJECTS.map(({ object }) => object));
  for (const [, team] of text.matchAll(/"gitplane:team:([^"]+)"|"team":"([^"]+)"/g)) {
    if (team !== undefined) expect(names('Team')).toContain(team);
  }
  for (const { object } of OBJECTS.filter(({ object }) => object.kind === 'OwnedAccessKey')) {
    expect(names('User')).toContain(object.spec?.['user']);
  }
});
