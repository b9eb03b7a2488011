/**
 * ProjectSecret: the secrets of one project, in its namespace. It has data of its own, which may be
 * synced with the secret store, or follows a shared secret that two labels name (reference: platform,
 * section 7).
 */
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  type FieldError,
  forbidden,
  invalid,
  type KubeObject,
  required,
} from '../apimachinery/index.ts';
import { accessWarnings, ownershipProblems } from './access/access-rules.ts';
import { AGE, DISPLAY_NAME, OWNER } from './columns.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind, type PrinterColumn } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';
import { SOURCE_NAME, SOURCE_NAMESPACE, sharedSecretOf } from './secrets/derived-secrets.ts';
import { DATA_KEYS, secretDataOf, secretDataProblems } from './secrets/secret-data.ts';
import { storeAnnotations, storeLinkProblems } from './secrets/store-link.ts';

const SOURCE: PrinterColumn = {
  name: 'Shared Secret',
  type: 'string',
  description: 'The shared secret whose data this one follows.',
  value: ({ metadata: { labels = {} } }) =>
    labels[SOURCE_NAME] ? `${labels[SOURCE_NAMESPACE]}/${labels[SOURCE_NAME]}` : undefined,
};

const deprecated = deprecations([]);

export function projectSecret(group: string): Kind {
  return defineKind({
    group,
    kind: 'ProjectSecret',
    plural: 'projectsecrets',
    singular: 'projectsecret',
    shortNames: ['ps'],
    categories: ['all', 'gitplane'],
    scope: 'Namespaced',
    schema: 'projectsecret',
    columns: [DISPLAY_NAME, DATA_KEYS, SOURCE, { ...OWNER, priority: 1 }, AGE],
    hasAccessRules: true,
    secretPaths: secretPathsOf('projectsecret'),
    follows: (object) => sharedSecretOf(group, object),
    followsStore: true,
    validate: (object) => [
      ...secretDataProblems(object),
      ...sourceProblems(object),
      ...ownershipProblems(object),
      ...storeLinkProblems(object),
    ],
    warnings: (object) => [...deprecated(object), ...accessWarnings(object)],
  });
}

/** An object has both labels and no data of its own, or neither label. */
function sourceProblems(object: KubeObject): FieldError[] {
  const labels = object.metadata.labels ?? {};
  const name = labels[SOURCE_NAME];
  const namespace = labels[SOURCE_NAMESPACE];
  if (name === undefined && namespace === undefined) return [];
  const path = ['metadata', 'labels'];
  const errors: FieldError[] = [];
  for (const [label, other] of [
    [SOURCE_NAME, SOURCE_NAMESPACE],
    [SOURCE_NAMESPACE, SOURCE_NAME],
  ] as const) {
    if (labels[label] === undefined) errors.push(required([...path, label], `${other} is set`));
  }
  if (name !== undefined) {
    errors.push(
      ...dnsSubdomainProblems(name).map((text) => invalid([...path, SOURCE_NAME], name, text)),
    );
  }
  if (namespace !== undefined) {
    const at = [...path, SOURCE_NAMESPACE];
    errors.push(...dnsLabelProblems(namespace).map((text) => invalid(at, namespace, text)));
  }
  if (Object.keys(secretDataOf(object)).length > 0) {
    const detail = `must be empty where the label ${SOURCE_NAME} names a shared secret to follow`;
    errors.push(forbidden(['spec', 'data'], detail));
  }
  for (const name of storeAnnotations(object)) {
    const detail = `the label ${SOURCE_NAME} names a shared secret to follow; link that one to the store`;
    errors.push(forbidden(['metadata', 'annotations', name], detail));
  }
  return errors;
}
