/**
 * RoleBindings and ClusterRoleBindings by subject, so that a request visits only the bindings of its user
 * and groups. ServiceAccount subjects match no user: the platform has no service accounts.
 */
import { isRecord, type KubeObject, listAt, type User } from '../../apimachinery/index.ts';
import type { RoleKey } from './role-index.ts';

export interface Binding {
  /** Undefined: the binding names a role that it cannot reach. */
  readonly role: RoleKey | undefined;
  /** `ClusterRole "admin"`. */
  readonly roleText: string;
  /** `clusterrole.rbac.authorization.k8s.io "admin" not found`. */
  readonly roleMissing: string;
}

/** Grant of a binding to one subject. */
export interface Grant {
  readonly binding: Binding;
  readonly source: { readonly namespace: string; readonly name: string };
  readonly subject: Subject;
  /** `ClusterRoleBinding "ops" of ClusterRole "admin" to Group "ops"`. */
  readonly text: string;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
}

/** Grants of one namespace; the empty namespace holds the cluster-wide ones. */
class Grants {
  readonly #of = { User: new Map<string, Set<Grant>>(), Group: new Map<string, Set<Grant>>() };

  add(subject: Subject, grant: Grant): void {
    const bySubject = this.#bySubject(subject.kind);
    const grants = bySubject?.get(subject.name);
    if (grants === undefined) bySubject?.set(subject.name, new Set([grant]));
    else grants.add(grant);
  }

  delete(subject: Subject, grant: Grant): void {
    const bySubject = this.#bySubject(subject.kind);
    const grants = bySubject?.get(subject.name);
    if (grants?.delete(grant) && grants.size === 0) bySubject?.delete(subject.name);
  }

  find(user: User, test: (grant: Grant) => boolean): Grant | undefined {
    const found = first(this.#of.User.get(user.name), test);
    if (found !== undefined) return found;
    for (const group of user.groups) {
      const ofGroup = first(this.#of.Group.get(group), test);
      if (ofGroup !== undefined) return ofGroup;
    }
    return undefined;
  }

  *all(): Iterable<Grant> {
    for (const grants of this.#of.User.values()) yield* grants;
    for (const grants of this.#of.Group.values()) yield* grants;
  }

  /** True if anything is granted to the user by name or by group. */
  names(user: User): boolean {
    return this.find(user, () => true) !== undefined;
  }

  #bySubject(kind: string): Map<string, Set<Grant>> | undefined {
    return kind === 'User' || kind === 'Group' ? this.#of[kind] : undefined;
  }
}

function first(grants: Set<Grant> | undefined, test: (grant: Grant) => boolean): Grant | undefined {
  if (grants === undefined) return undefined;
  for (const grant of grants) if (test(grant)) return grant;
  return undefined;
}

export class BindingIndex {
  readonly #byNamespace = new Map<string, Grants>();
  /** `namespace/name` → function that removes the binding. */
  readonly #undo = new Map<string, () => void>();

  set(object: KubeObject): void {
    const { name = '', namespace = '' } = object.metadata;
    this.remove(namespace, name);
    const target = this.#byNamespace.get(namespace) ?? new Grants();
    this.#byNamespace.set(namespace, target);
    const binding = readBinding(object);
    const entries = readSubjects(object).map((subject) => {
      const to = `${subject.kind} ${JSON.stringify(subject.name)}`;
      const text = `${bindingText(namespace, name)} of ${binding.roleText} to ${to}`;
      return { subject, grant: { binding, source: { namespace, name }, subject, text } };
    });
    for (const { subject, grant } of entries) target.add(subject, grant);
    this.#undo.set(`${namespace}/${name}`, () => {
      for (const { subject, grant } of entries) target.delete(subject, grant);
    });
  }

  remove(namespace: string, name: string): void {
    this.#undo.get(`${namespace}/${name}`)?.();
    this.#undo.delete(`${namespace}/${name}`);
  }

  /** Namespaces with grants for a user, beside the cluster-wide ones. */
  namespacesOf(user: User): string[] {
    const found = [...this.#byNamespace].filter(([, grants]) => grants.names(user));
    return found.map(([namespace]) => namespace).filter((namespace) => namespace !== '');
  }

  /** Grants of all users: cluster-wide, and of the namespace unless it is empty. */
  *all(namespace: string): Iterable<Grant> {
    yield* this.#byNamespace.get('')?.all() ?? [];
    if (namespace !== '') yield* this.#byNamespace.get(namespace)?.all() ?? [];
  }

  /**
   * First matching grant of a user: cluster-wide grants first, then those of the namespace unless it is
   * empty.
   */
  find(user: User, namespace: string, test: (grant: Grant) => boolean): Grant | undefined {
    const found = this.#byNamespace.get('')?.find(user, test);
    if (found !== undefined || namespace === '') return found;
    return this.#byNamespace.get(namespace)?.find(user, test);
  }
}

function bindingText(namespace: string, name: string): string {
  if (namespace === '') return `ClusterRoleBinding ${JSON.stringify(name)}`;
  return `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
}

function readBinding(object: KubeObject): Binding {
  const ref = isRecord(object['roleRef']) ? object['roleRef'] : {};
  const [kind, name] = [String(ref['kind']), String(ref['name'])];
  return {
    role: roleKey(kind, name, object.metadata.namespace ?? ''),
    roleText: `${kind} ${JSON.stringify(name)}`,
    roleMissing: `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`,
  };
}

/** A ClusterRoleBinding can name only a ClusterRole. */
export function roleKey(kind: string, name: string, bindingNamespace: string): RoleKey | undefined {
  if (kind === 'ClusterRole') return { namespace: '', name };
  if (kind === 'Role' && bindingNamespace !== '') return { namespace: bindingNamespace, name };
  return undefined;
}

function readSubjects(object: KubeObject): Subject[] {
  return listAt<unknown>(object, ['subjects'])
    .filter(isRecord)
    .map(({ kind, name }) => ({ kind: String(kind), name: String(name) }));
}
