/** One valid object of each kind, and a change of it that every client can make. */
import { expect, vi } from 'vitest';
import { type Answer, type Daemon, RBAC } from '../support/daemon.ts';

export const GROUP = 'management.gitplane.dev';
export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const NAMESPACE = 'samples';
export const LABEL = { 'example.com/sample': 'sure' };

export interface Sample {
  readonly kind: string;
  /** As kubectl takes it: `teams.management.gitplane.dev`. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** The base URL of the collection over all namespaces, below the API root of the group. */
  readonly plural: string;
  readonly group: string;
  /** The desired state beside metadata. */
  readonly fields: object;
  /** A top-level field and the value it changes to. */
  readonly change: { readonly field: string; readonly value: unknown };
  /** JSONPath to a text of the desired state, its text before and after the change. */
  readonly text: { readonly path: string; readonly before: string; readonly after: string };
}

const ROLE_REF = { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'cluster-admin' };

function subject(name: string): object {
  return { apiGroup: RBAC_GROUP, kind: 'User', name };
}

function rule(resource: string): object {
  return { apiGroups: [GROUP], resources: [resource], verbs: ['get'] };
}

interface Row {
  readonly kind: string;
  readonly plural?: string;
  readonly namespaced?: boolean;
  readonly spec?: Record<string, unknown>;
}

/** Kinds of the management group: `spec`, of which `displayName` or `raw` changes. */
function managed({ kind, plural, namespaced = false, spec = {} }: Row): Sample {
  const name = plural ?? `${kind.toLowerCase()}s`;
  const [field, before, after] =
    spec['raw'] === undefined
      ? ['displayName', 'before', 'after']
      : ['raw', 'platformHost: before', 'platformHost: after'];
  return {
    kind,
    plural: name,
    group: GROUP,
    resource: `${name}.${GROUP}`,
    namespaced,
    fields: { spec: { [field]: before, ...spec } },
    change: { field: 'spec', value: { ...spec, [field]: after } },
    text: { path: `{.spec.${field}}`, before, after },
  };
}

function role(kind: string, namespaced: boolean): Sample {
  const plural = `${kind.toLowerCase()}s`;
  return {
    kind,
    plural,
    group: RBAC_GROUP,
    resource: `${plural}.${RBAC_GROUP}`,
    namespaced,
    fields: { rules: [rule('before')] },
    change: { field: 'rules', value: [rule('after')] },
    text: { path: '{.rules[0].resources[0]}', before: 'before', after: 'after' },
  };
}

function binding(kind: string, namespaced: boolean): Sample {
  const plural = `${kind.toLowerCase()}s`;
  return {
    kind,
    plural,
    group: RBAC_GROUP,
    resource: `${plural}.${RBAC_GROUP}`,
    namespaced,
    fields: { roleRef: ROLE_REF, subjects: [subject('before')] },
    change: { field: 'subjects', value: [subject('after')] },
    text: { path: '{.subjects[0].name}', before: 'before', after: 'after' },
  };
}

const DATA = { token: 'c2VjcmV0' };

/** Every kind that is kept; DirectClusterEndpointToken can only be created. */
export const SAMPLES: readonly Sample[] = [
  managed({ kind: 'SharedSecret', namespaced: true, spec: { data: DATA, description: 'for CI' } }),
  managed({ kind: 'Team', spec: { users: ['ada'], description: 'on call' } }),
  managed({ kind: 'OwnedAccessKey', spec: { user: 'ada', description: 'of a pipeline' } }),
  managed({ kind: 'Config', plural: 'config', spec: { raw: 'platformHost: before' } }),
  managed({ kind: 'User', spec: { email: 'sample@example.com' } }),
  managed({ kind: 'ProjectSecret', namespaced: true, spec: { data: DATA } }),
  role('Role', true),
  role('ClusterRole', false),
  binding('RoleBinding', true),
  binding('ClusterRoleBinding', false),
];

/** The sample as a whole object. Names begin with `zz`, behind everything that settings follow. */
export function objectOf(sample: Sample, name: string, labels: object = LABEL): object {
  const { kind, group, namespaced, fields } = sample;
  const namespace = namespaced ? { namespace: NAMESPACE } : {};
  return { apiVersion: `${group}/v1`, kind, metadata: { name, ...namespace, labels }, ...fields };
}

/** The generation after that many changes of what is wanted; roles and bindings have none. */
export function generationAfter({ group }: Sample, changes: number): number | undefined {
  return group === GROUP ? 1 + changes : undefined;
}

/** The same object with its change. */
export function changedObject(sample: Sample, name: string): object {
  const { field, value } = sample.change;
  return { ...objectOf(sample, name), [field]: value };
}

/** The path of the collection in the API. */
export function collectionPath(sample: Sample, api: string): string {
  const base = sample.group === GROUP ? api : RBAC;
  return `${base}${sample.namespaced ? `/namespaces/${NAMESPACE}` : ''}/${sample.plural}`;
}

/** The text that the sample changes, read from an object. */
export function textOf(sample: Sample, object: unknown): unknown {
  const steps = sample.text.path.split(/[^\w]+/).filter((step) => step !== '');
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], object);
}

/**
 * The object at `path` once its controller has written its status, which changes the
 * resourceVersion. Of the samples only a second Config gets one after its creation.
 */
export function settled(daemon: Daemon, sample: Sample, path: string): Promise<Answer> {
  return vi.waitFor(async () => {
    const answer = await daemon.call('GET', path);
    if (sample.kind === 'Config') {
      const type = expect.objectContaining({ type: 'InForce' });
      expect(answer.json().status.conditions).toContainEqual(type);
    }
    return answer;
  });
}
