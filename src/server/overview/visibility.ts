/**
 * Rights of one reader on objects of many kinds. An object is visible to a reader who may list its
 * collection or get it. The rights of collections are memoized, so an instance serves one request.
 */
import type { ObjectKey, User } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';

type Rights = Pick<ServerDependencies, 'authorizer' | 'rights'>;

export class Visibility {
  readonly #rights: Rights;
  readonly #user: User;
  readonly #lists = new Map<Kind, Map<string, boolean>>();
  #namespaces: readonly string[] | undefined;

  constructor(rights: Rights, user: User) {
    this.#rights = rights;
    this.#user = user;
  }

  /** True if the reader has a right on a path such as `/sync`. */
  mayRequest(verb: string, path: string): boolean {
    return this.#rights.authorizer.authorize(this.#user, { verb, path }).allowed;
  }

  /** `namespace` is empty for the objects of all namespaces, and for kinds without namespaces. */
  mayList(kind: Kind, namespace: string): boolean {
    const known = this.#lists.get(kind) ?? new Map<string, boolean>();
    this.#lists.set(kind, known);
    const found = known.get(namespace) ?? this.#may(kind, { verb: 'list', namespace, name: '' });
    known.set(namespace, found);
    return found;
  }

  maySee(kind: Kind, { namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): boolean {
    return (
      this.mayList(kind, '') ||
      (namespace !== '' && this.mayList(kind, namespace)) ||
      this.#may(kind, { verb: 'get', namespace, name })
    );
  }

  /** Namespaces whose objects of the kind the reader may list; `all`: every namespace. */
  listedNamespaces(kind: Kind): 'all' | readonly string[] {
    if (this.mayList(kind, '')) return 'all';
    if (kind.scope !== 'Namespaced') return [];
    this.#namespaces ??= this.#rights.rights.namespacesOf(this.#user);
    return this.#namespaces.filter((namespace) => this.mayList(kind, namespace));
  }

  #may(
    { group, plural }: Kind,
    on: { readonly verb: string; readonly namespace: string; readonly name: string },
  ): boolean {
    return this.#rights.authorizer.authorize(this.#user, { group, resource: plural, ...on })
      .allowed;
  }
}
