/**
 * CustomResourceDefinitions of the platform's kinds. Terraform writes no object of a kind without
 * one; k9s and Argo CD follow them.
 */
import { type JsonObject, type KubeObject, nameUuids, rfc3339 } from '../../apimachinery/index.ts';
import { customResourceDefinition, DEFINITION, type KindTable } from '../../kinds/index.ts';
import type { Change } from '../../state/index.ts';

/** `birth` of the platform in seconds since the epoch. */
export function definitionsOf({ kinds }: KindTable, birth: number): Change[] {
  const since = rfc3339(birth * 1000);
  return kinds
    .map(customResourceDefinition)
    .filter((definition) => definition !== undefined)
    .map((definition) => definitionPut(definition as unknown as KubeObject, since));
}

/** Stable across starts: derived from the name. */
const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

function definitionPut(definition: KubeObject, since: string): Change {
  const { name = '' } = definition.metadata;
  const { names } = definition.spec as { names: JsonObject };
  const object: KubeObject = {
    ...definition,
    metadata: { name, uid: uidOf(`definition ${name}`), generation: 1, creationTimestamp: since },
    spec: { ...definition.spec, conversion: { strategy: 'None' } },
    status: {
      conditions: [
        condition('NamesAccepted', { reason: 'NoConflicts', message: 'no conflicts found' }, since),
        condition(
          'Established',
          { reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' },
          since,
        ),
      ],
      acceptedNames: names,
      storedVersions: ['v1'],
    },
  };
  const { group, kind } = DEFINITION;
  return { type: 'put', key: { group, kind, namespace: '', name }, object };
}

function condition(
  type: string,
  why: { readonly reason: string; readonly message: string },
  since: string,
): JsonObject {
  return { type, status: 'True', ...why, lastTransitionTime: since };
}
