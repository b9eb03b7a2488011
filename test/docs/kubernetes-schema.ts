/**
 * Whether a manifest is one that an API server takes: every field is known and of its type, by the
 * models of the official client, which are generated from the API's OpenAPI document.
 */
import * as models from '@kubernetes/client-node';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

interface Model {
  getAttributeTypeMap(): readonly Attribute[];
}

const KINDS: Readonly<Record<string, string>> = {
  'v1 Namespace': 'V1Namespace',
  'v1 ServiceAccount': 'V1ServiceAccount',
  'v1 PersistentVolumeClaim': 'V1PersistentVolumeClaim',
  'v1 Service': 'V1Service',
  'apps/v1 Deployment': 'V1Deployment',
  'apps/v1 StatefulSet': 'V1StatefulSet',
  'policy/v1 PodDisruptionBudget': 'V1PodDisruptionBudget',
  'networking.k8s.io/v1 NetworkPolicy': 'V1NetworkPolicy',
  'networking.k8s.io/v1 Ingress': 'V1Ingress',
};

/** Of the operator for Prometheus: not known here. */
const ELSEWHERE = 'monitoring.coreos.com/v1';

/** One line for each problem, with its path. */
export function schemaProblems(manifest: { apiVersion?: string; kind?: string }): string[] {
  const { apiVersion, kind } = manifest;
  if (apiVersion === ELSEWHERE) return [];
  const model = KINDS[`${apiVersion} ${kind}`];
  if (model === undefined) return [`unknown kind ${apiVersion} ${kind}`];
  return problemsOf(manifest, model, kind ?? '');
}

function problemsOf(value: unknown, type: string, path: string): string[] {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path} is not a list`];
    return value.flatMap((item, index) => problemsOf(item, list, `${path}[${index}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) {
    if (!isObject(value)) return [`${path} is not a map`];
    return Object.entries(value).flatMap(([key, item]) => problemsOf(item, map, `${path}.${key}`));
  }
  if (type === 'any') return [];
  if (type === 'IntOrString') {
    return ['number', 'string'].includes(typeof value) ? [] : [`${path} is no number or text`];
  }
  if (['string', 'number', 'boolean'].includes(type)) {
    return typeof value === type ? [] : [`${path} is not a ${type}`];
  }
  return fieldProblems(value, type, path);
}

function fieldProblems(value: unknown, type: string, path: string): string[] {
  const model = (models as unknown as Record<string, Model | undefined>)[type];
  if (model === undefined) return [`${path} has the unknown type ${type}`];
  if (!isObject(value)) return [`${path} is not an object`];
  const attributes = new Map(model.getAttributeTypeMap().map((one) => [one.baseName, one.type]));
  return Object.entries(value).flatMap(([name, item]) => {
    const known = attributes.get(name);
    if (known === undefined) return [`${path}.${name} is unknown`];
    return problemsOf(item, known, `${path}.${name}`);
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
