import { describe, expect, test } from 'vitest';
import { isRecord, type JsonObject } from '../../../src/apimachinery/object.ts';
import { customResourceDefinition } from '../../../src/kinds/schema/custom-resource-definition.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';

const { kinds } = buildKindTable('example.dev');
const definitions = kinds
  .map(customResourceDefinition)
  .filter((definition) => definition !== undefined);

interface Version {
  readonly schema: { readonly openAPIV3Schema: JsonObject };
  readonly subresources?: object;
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly additionalPrinterColumns?: readonly { readonly jsonPath: string }[];
}

interface Spec {
  readonly names: JsonObject;
  readonly scope: string;
  readonly versions: readonly [Version];
}

function specOf(plural: string): Spec {
  const found = definitions.find(
    ({ metadata }) => (metadata as JsonObject)['name'] === `${plural}.example.dev`,
  );
  return found?.['spec'] as unknown as Spec;
}

describe('definitions', () => {
  test('cover every stored kind that is not of Kubernetes', () => {
    const names = definitions.map(({ metadata }) => (metadata as JsonObject)['name']);
    const kept = kinds.filter(
      ({ storedIn, group }) => storedIn !== 'nowhere' && group === 'example.dev',
    );
    expect(names).toEqual(kept.map(({ plural }) => `${plural}.example.dev`));
    expect(names).toContain('config.example.dev');
    expect(names).not.toContain('directclusterendpointtokens.example.dev');
  });

  test('use the names of discovery', () => {
    const { names, scope } = specOf('teams');
    expect(scope).toBe('Cluster');
    expect(names).toEqual({
      kind: 'Team',
      listKind: 'TeamList',
      plural: 'teams',
      singular: 'team',
      shortNames: ['tm'],
      categories: ['all', 'gitplane'],
    });
  });

  test('fields that can be selected, columns and status are said', () => {
    const [version] = specOf('ownedaccesskeys').versions;
    expect(version.selectableFields).toContainEqual({ jsonPath: '.spec.user' });
    expect(version.subresources).toEqual({ status: {} });
    const paths = version.additionalPrinterColumns?.map(({ jsonPath }) => jsonPath);
    expect(paths).toEqual([
      '.spec.displayName',
      '.spec.type',
      '.status.lastActivity',
      '.metadata.creationTimestamp',
    ]);
  });

  test('schemas have a type at each place, and no word that Kubernetes does not know', () => {
    const foreign = [
      '$ref',
      'deprecated',
      'uniqueItems',
      'readOnly',
      'title',
      'const',
      'definitions',
    ];
    const problems: string[] = [];
    const look = (node: JsonObject, path: string): void => {
      const words = Object.keys(node);
      const isOpen =
        node['x-kubernetes-int-or-string'] === true ||
        node['x-kubernetes-preserve-unknown-fields'] === true;
      if (node['type'] === undefined && !isOpen) problems.push(`${path}: no type`);
      problems.push(
        ...words.filter((word) => foreign.includes(word)).map((word) => `${path}: ${word}`),
      );
      for (const [name, child] of Object.entries((node['properties'] ?? {}) as JsonObject)) {
        look(child as JsonObject, `${path}.${name}`);
      }
      for (const word of ['items', 'additionalProperties']) {
        if (isRecord(node[word])) look(node[word] as JsonObject, `${path}[]`);
      }
    };
    for (const { metadata, spec } of definitions) {
      const [version] = (spec as unknown as { versions: [Version] }).versions;
      look(version.schema.openAPIV3Schema, String((metadata as JsonObject)['name']));
    }
    expect(problems).toEqual([]);
  });

  test('nothing is required that the server fills in', () => {
    const { openAPIV3Schema } = specOf('teams').versions[0].schema;
    expect(openAPIV3Schema['required']).toBeUndefined();
    expect((openAPIV3Schema['properties'] as JsonObject)['metadata']).toEqual({ type: 'object' });
  });
});
