/** Context of every write: dependencies, options, and results. */

import type {
  Authorizer,
  Clock,
  KubeObject,
  ObjectKey,
  StatusError,
  User,
} from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Kind, KindTable, SecretPaths } from '../../kinds/index.ts';
import type { Store, StoredObject } from '../../state/index.ts';
import type { DerivedSecretChange } from '../projection/derived-secrets.ts';
import type { WriteOrigin } from './commit-message.ts';
import type { FieldValidation } from './decode.ts';
import type { InFlight } from './write.ts';

export interface WriteOptions extends WriteOrigin {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** Further answers of a dry run. */
  readonly previews?: readonly Preview[] | undefined;
  /** Continues from the last good version of an object whose manifest in git is not valid. */
  readonly force?: boolean | undefined;
  /** Differs between requests with the same idempotency key and different contents. */
  readonly requestDigest?: string | undefined;
}

/** `file`: the file that the write would leave. `effect`: the objects that it would change. */
export type Preview = 'file' | 'effect';

/** The object of a request. */
export interface Target {
  readonly kind: Kind;
  /** Empty for kinds without a namespace. */
  readonly namespace: string;
  readonly name: string;
  /** Uid of the authorized object; absent: the right covers every name. */
  readonly rightOn?: string | undefined;
  /** Throws if the user may not write the present version, which may be newer than the request. */
  check?(present: StoredObject): void;
}

/** Key of the object of a request. */
export function keyOf({ kind, namespace, name }: Omit<Target, 'rightOn' | 'check'>): ObjectKey {
  return { group: kind.group, kind: kind.kind, namespace, name };
}

/** A planned change, by the API or by a push. */
export interface PlannedChange {
  readonly user: User;
  readonly kind: Kind;
  /** Absent: the object is removed. */
  readonly object: KubeObject | undefined;
  /** Absent: the object is new. */
  readonly old: KubeObject | undefined;
  /** Write-only values of the change, concealed, by path with dots. */
  readonly brings?: Readonly<Record<string, unknown>> | undefined;
  /** Absent: there is no write in flight. */
  readonly inFlight?: InFlight | undefined;
  /** Of a push that changes an object which follows another one. Absent: the state tells. */
  readonly following?: Following | undefined;
}

export interface Following {
  /** True if the object begins to follow this life of its source. */
  readonly begins: boolean;
  /** False if the source is not there at the end of the push. */
  readonly hasSource: boolean;
}

/**
 * A rule for changes beyond validation, such as granting permissions. Returns the refusal: 403, or
 * 422 with the fields.
 */
export type Guard = (change: PlannedChange) => StatusError | undefined;

/**
 * Warnings about an object beyond those of its kind, such as a reference to something that is not
 * configured. `pushed`: all changes of the push that contains the object.
 */
export type Advice = (
  kind: Kind,
  object: KubeObject,
  pushed?: readonly ObjectChange[],
) => readonly string[];

/** Dependencies for deciding a write. */
export interface DecisionParts {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  readonly clock: Clock;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  readonly guards: readonly Guard[];
  readonly advice?: Advice | undefined;
  /** Decides which secrets a warning may reveal. Absent: all of them. */
  readonly authorizer?: Authorizer | undefined;
}

export interface WriteParts extends DecisionParts {
  readonly store: Store;
}

/** The bytes of a file before and after a write, as text. Absent: there is no such file. */
export interface FilePreview {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Changes that a write would make, with those of derived secrets. */
export interface WriteEffect {
  readonly changes: readonly ObjectChange[];
  readonly derived: readonly DerivedSecretChange[];
}

/** Answer to the previews that a dry run asks for. */
export interface WritePreview {
  readonly file?: FilePreview | undefined;
  readonly effect?: WriteEffect | undefined;
}

export interface WriteResult extends WritePreview {
  readonly object: KubeObject;
  /** Set if `object` is exactly the stored one, so that its encoded form can be used. */
  readonly stored?: StoredObject | undefined;
  /** Paths that the file of a pending object encrypts beside the secret fields; `stored` tells it otherwise. */
  readonly encrypted?: SecretPaths | undefined;
  readonly warnings: readonly string[];
  /** True if an update created the object. */
  readonly created?: boolean | undefined;
  /** An earlier write, found by its idempotency key in the history; its object may be gone. */
  readonly isReplayed?: true | undefined;
  /** The commit of the write; absent for dry runs and writes that changed nothing. */
  readonly commit?: string | undefined;
}

export interface DeleteResult extends WriteResult {
  /** False while finalizers or a grace period keep the object readable. */
  readonly gone: boolean;
}
