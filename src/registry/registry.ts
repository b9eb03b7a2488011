/**
 * Registry of objects: reads and writes. It knows a kind by its definition and never by name. The
 * request was authorized before.
 */

import { objectProblems } from '../admission/index.ts';
import {
  asKubeObject,
  badRequest,
  invalidObject,
  type KubeObject,
  notFound,
} from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';
import type { StoredObject } from '../state/index.ts';
import type { Branch } from './branch.ts';
import { shownWithDerivedData } from './projection/derived-secrets.ts';
import { withReadiness } from './projection/object-with-managed-fields.ts';
import type { ApplyRequest } from './writes/apply.ts';
import { applyThrough } from './writes/apply-request.ts';
import { type CreateRequest, prepareCreate } from './writes/create.ts';
import { decodeObject, stripServerFields } from './writes/decode.ts';
import {
  afterDeletion,
  type DeleteRequest,
  type PreparedDelete,
  prepareDelete,
} from './writes/delete.ts';
import { prepareUpdate, type UpdateRequest } from './writes/update.ts';
import type { Write } from './writes/write.ts';
import {
  type DeleteResult,
  keyOf,
  type Target,
  type WriteOptions,
  type WriteParts,
  type WritePreview,
  type WriteResult,
} from './writes/write-context.ts';
import { withConcealed } from './writes/write-only.ts';

/** Makes objects of a kind that is not stored, such as signed tokens. */
export type Issuer = (request: {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly options: WriteOptions;
}) => Promise<{ object: KubeObject; warnings: readonly string[] }>;

export interface RegistryOptions extends WriteParts {
  readonly branch: Branch;
  /** By plural. */
  readonly issuers: Readonly<Record<string, Issuer>>;
  /**
   * Removes an owner from the references of its dependents, before the owner is deleted alone.
   * Absent: such a deletion is refused, since the dependents are not known.
   */
  readonly release?: ((owner: KubeObject) => Promise<void>) | undefined;
}

/** Methods of a registry that handlers use, independent of where writes go. */
export type ObjectRegistry = Pick<Registry, 'get' | 'create' | 'update' | 'delete'> &
  Partial<Pick<Registry, 'apply'>>;

export class Registry implements ObjectRegistry {
  readonly #parts: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#parts = options;
  }

  /** Throws 404. */
  get(target: Target): StoredObject {
    const found = this.#parts.store.get(keyOf(target));
    if (found === undefined) throw notFound(target.kind, target.name);
    return found;
  }

  async create(request: CreateRequest): Promise<WriteResult> {
    if (request.kind.storedIn === 'nowhere') return await this.#issue(request);
    const create = prepareCreate(this.#parts, request);
    const { warnings } = create;
    if (request.options.dryRun) {
      const preview = await this.#dryRun(create, request.options);
      return { object: this.#shown(request.kind, create.preview()), warnings, ...preview };
    }
    const { stored, commit } = await this.#parts.branch.submit(create);
    if (stored === undefined) throw notFound(request.kind, create.key.name);
    if (create.generated.size === 0) return { object: stored.object, stored, warnings, commit };
    const shown = asKubeObject(withConcealed(stored.object, create.generated));
    const object = withReadiness(request.kind, shown);
    return { object, warnings, commit };
  }

  async update(request: UpdateRequest): Promise<WriteResult> {
    const update = prepareUpdate(this.#parts, request);
    if (request.options.dryRun) {
      const preview = await this.#dryRun(update, request.options);
      const object = this.#shown(request.kind, update.preview() ?? this.get(request).object);
      return { object, warnings: update.warnings(), ...preview };
    }
    const { stored, commit } = await this.#parts.branch.submit(update);
    const warnings = update.warnings();
    if (stored !== undefined) return { object: stored.object, stored, warnings, commit };
    // The update emptied the finalizers of a terminating object: this was its last state.
    const object = update.preview();
    if (object === undefined) throw notFound(request.kind, request.name);
    return { object, warnings, commit };
  }

  /** `created`: the object did not exist. */
  async apply(request: ApplyRequest): Promise<WriteResult & { created: boolean }> {
    return await applyThrough(this, this.#parts, request);
  }

  async delete(request: DeleteRequest): Promise<DeleteResult> {
    const deletion = prepareDelete(this.#parts, request);
    if (request.options.dryRun) {
      const { branch, clock } = this.#parts;
      const { previews = [] } = request.options;
      const prepared = await branch.runExclusive(async () => deletion.prepare());
      const preview = previews.length === 0 ? {} : await branch.preview(deletion, previews);
      const { object } = this.get(request);
      return { ...afterDeletion(prepared, object, clock.now()), warnings: [], ...preview };
    }
    if (request.delete.propagationPolicy === 'Orphan') await this.#release(deletion);
    const { stored, commit } = await this.#parts.branch.submit(deletion);
    const object = stored?.object ?? deletion.found()?.object;
    if (object === undefined) throw notFound(request.kind, request.name);
    return { object, stored, gone: stored === undefined, warnings: [], commit };
  }

  /** Releases dependents first, so that no commit has a dependent without its owner. */
  async #release(deletion: PreparedDelete): Promise<void> {
    const { branch, release } = this.#parts;
    if (release === undefined) {
      throw badRequest(
        'propagationPolicy Orphan cannot be used for writes that wait for a review: take the ownerReferences out of the dependents, and delete the owner when that is merged',
      );
    }
    await branch.runExclusive(async () => deletion.prepare());
    const owner = deletion.found()?.object;
    if (owner !== undefined) await release(owner);
  }

  async #dryRun(write: Write, { previews = [] }: WriteOptions): Promise<WritePreview> {
    return await this.#parts.branch.preview(write, previews);
  }

  /** Answer to a dry run. */
  #shown(kind: Kind, object: KubeObject): KubeObject {
    const { store, clock } = this.#parts;
    const shown = shownWithDerivedData(kind, object, { store, time: clock.now() });
    return kind.storedIn === 'git' ? withReadiness(kind, shown) : shown;
  }

  async #issue(request: CreateRequest): Promise<WriteResult> {
    const { kind, options } = request;
    const issuer = this.#parts.issuers[kind.plural];
    if (issuer === undefined) throw notFound(kind, '');
    const schema = this.#parts.kinds.schemaOf(kind);
    const decoded = decodeObject(request.body, { ...request, ...options, schema, isPatch: false });
    const { object } = decoded;
    stripServerFields(object);
    const named = { ...object, metadata: { name: kind.singular, ...object.metadata } };
    const errors = objectProblems(kind, schema, { object: named });
    if (errors.length > 0) throw invalidObject(kind, object.metadata.name ?? '', errors);
    const issued = await issuer({ kind, object, options });
    const warnings = [...decoded.warnings, ...kind.warnings(object), ...issued.warnings];
    return { object: issued.object, warnings };
  }
}
