/** Rules and defaults of role bindings, as in Kubernetes. */
import {
  dnsSubdomainProblems,
  type FieldError,
  type FieldPath,
  invalid,
  jsonEqual,
  type KubeObject,
  listAt,
  mapAt,
  notSupported,
  pathSegmentProblems,
  required,
} from '../../apimachinery/index.ts';
import { AGE } from '../columns.ts';
import { type PrinterColumn, RBAC_GROUP } from '../kind.ts';

export interface Subject {
  apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface RoleRef {
  apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

export function subjectsOf(object: KubeObject): readonly Subject[] {
  return listAt<Subject>(object, ['subjects']);
}

export function roleRefOf(object: KubeObject): Partial<RoleRef> {
  return mapAt<RoleRef>(object, ['roleRef']);
}

/** API group of an entry, or its default. */
function effectiveGroup(entry: Partial<Subject | RoleRef>): string {
  if (entry.apiGroup !== undefined && entry.apiGroup !== '') return entry.apiGroup;
  return entry.kind === 'ServiceAccount' ? '' : RBAC_GROUP;
}

/** Fills in API groups. Mutates `object`. */
export function setBindingDefaults(object: KubeObject): void {
  const roleRef = roleRefOf(object);
  if (!roleRef.apiGroup) roleRef.apiGroup = RBAC_GROUP;
  if (subjectsOf(object).length === 0) delete object['subjects'];
  for (const subject of subjectsOf(object)) {
    const group = effectiveGroup(subject);
    if (group !== '') subject.apiGroup = group;
  }
}

interface BindingRules {
  readonly namespaced: boolean;
  readonly roleKinds: readonly string[];
}

export function bindingProblems(
  object: KubeObject,
  old: KubeObject | undefined,
  rules: BindingRules,
): FieldError[] {
  return [
    ...roleRefProblems(roleRefOf(object), rules.roleKinds),
    ...subjectsOf(object).flatMap((subject, index) =>
      subjectProblems(subject, ['subjects', index], rules.namespaced),
    ),
    ...(old === undefined ? [] : changedRoleProblems(object, old)),
  ];
}

function roleRefProblems(roleRef: Partial<RoleRef>, kinds: readonly string[]): FieldError[] {
  const { kind = '', name = '' } = roleRef;
  const path = ['roleRef'];
  const errors: FieldError[] = [];
  if (effectiveGroup(roleRef) !== RBAC_GROUP) {
    errors.push(notSupported([...path, 'apiGroup'], roleRef.apiGroup, [RBAC_GROUP]));
  }
  if (!kinds.includes(kind)) {
    errors.push(notSupported([...path, 'kind'], kind, kinds));
  }
  if (name === '') errors.push(required([...path, 'name']));
  const problems = pathSegmentProblems(name);
  errors.push(...problems.map((text) => invalid([...path, 'name'], name, text)));
  return errors;
}

function subjectProblems(subject: Subject, path: FieldPath, namespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (subject.name === '') errors.push(required([...path, 'name']));
  switch (subject.kind) {
    case 'ServiceAccount':
      errors.push(...serviceAccountProblems(subject, path, namespaced));
      break;
    case 'User':
    case 'Group':
      if (effectiveGroup(subject) !== RBAC_GROUP) {
        errors.push(notSupported([...path, 'apiGroup'], subject.apiGroup, [RBAC_GROUP]));
      }
      break;
    default:
      errors.push(
        notSupported([...path, 'kind'], subject.kind, ['Group', 'ServiceAccount', 'User']),
      );
  }
  return errors;
}

function serviceAccountProblems(
  subject: Subject,
  path: FieldPath,
  namespaced: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  if (subject.name !== '') {
    const problems = dnsSubdomainProblems(subject.name);
    errors.push(...problems.map((text) => invalid([...path, 'name'], subject.name, text)));
  }
  if (subject.apiGroup) {
    errors.push(notSupported([...path, 'apiGroup'], subject.apiGroup, ['']));
  }
  if (!namespaced && !subject.namespace) errors.push(required([...path, 'namespace']));
  return errors;
}

function changedRoleProblems(object: KubeObject, old: KubeObject): FieldError[] {
  const roleRef = roleRefOf(object);
  const before = roleRefOf(old);
  const same = jsonEqual(
    { ...roleRef, apiGroup: effectiveGroup(roleRef) },
    { ...before, apiGroup: effectiveGroup(before) },
  );
  return same ? [] : [invalid(['roleRef'], roleRef, 'cannot change roleRef')];
}

/** The columns of `kubectl get rolebindings`. */
export const BINDING_COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Role',
    type: 'string',
    description: 'The role that the binding gives.',
    value: (object) => `${roleRefOf(object).kind}/${roleRefOf(object).name}`,
  },
  AGE,
  subjectColumn('Users', 'User', 'Users who get the role.'),
  subjectColumn('Groups', 'Group', 'Groups that get the role.'),
  subjectColumn('ServiceAccounts', 'ServiceAccount', 'Service accounts that get the role.'),
];

function subjectColumn(name: string, kind: string, description: string): PrinterColumn {
  const text = ({ name, namespace }: Subject): string =>
    kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name;
  return {
    name,
    type: 'string',
    description,
    priority: 1,
    value: (object) =>
      subjectsOf(object)
        .filter((subject) => subject.kind === kind)
        .map(text)
        .join(', '),
  };
}
