/** Kinds and objects that several tests of the server share. */
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { DEFAULT_API_GROUP, type Kind } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';

export const GROUP = DEFAULT_API_GROUP;
export const kinds = buildKindTable(GROUP);

export function kindNamed(name: string): Kind {
  const kind = kinds.kinds.find((candidate) => candidate.kind === name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

export const NOW = Date.parse('2026-03-01T12:00:00Z');

export function team(name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: `${GROUP}/v1`,
    kind: 'Team',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '41',
      creationTimestamp: '2026-03-01T11:55:30Z',
      labels: { tier: 'one' },
      ...more,
    },
    spec: { displayName: `The ${name}`, users: ['ada', 'bob'] },
  };
}
