/** What every write needs: the parts it works with, who asks how, and what is answered. */

import type { Authorizer, Clock, KubeObject, StatusError, User } from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import type { Store, StoredObject } from '../../state/index.ts';
import type { WriteOrigin } from './commit-message.ts';
import type { FieldValidation } from './decode.ts';

export interface WriteOptions extends WriteOrigin {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** Goes on from the last good version of an object whose manifest in git is not valid. */
  readonly force?: boolean | undefined;
  /** Differs between requests that have one idempotency key and do not ask for the same. */
  readonly requestDigest?: string | undefined;
}

/** Which object a request is about. */
export interface Target {
  readonly kind: Kind;
  /** Empty where the kind has no namespace. */
  readonly namespace: string;
  readonly name: string;
  /** The uid of the object that the right to the write was found on; absent: a right on every name. */
  readonly rightOn?: string | undefined;
}

/** A change that is about to be made, by the API or by a push. */
export interface PlannedChange {
  readonly user: User;
  readonly kind: Kind;
  /** Absent: the object is to be removed. */
  readonly object: KubeObject | undefined;
  /** Absent: the object is new. */
  readonly old: KubeObject | undefined;
  /** Write-only values that the change brings, concealed, by path with dots. */
  readonly brings?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A rule about who may make a change that validation of the object alone does not tell, such as
 * granting permissions. Returns why not: 403, or 422 with the fields.
 */
export type Guard = (change: PlannedChange) => StatusError | undefined;

/**
 * Warnings about an object that its kind alone does not tell, such as one that names what is not configured.
 * `pushed`: all changes of the push that the object comes with.
 */
export type Advice = (
  kind: Kind,
  object: KubeObject,
  pushed?: readonly ObjectChange[],
) => readonly string[];

/** What deciding about a write takes. */
export interface DecisionParts {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  readonly clock: Clock;
  /** The folder that holds manifests; '' is the whole tree. */
  readonly under: string;
  readonly guards: readonly Guard[];
  readonly advice?: Advice | undefined;
  /** Decides whose secrets a warning tells of. Absent: everybody may see all of them. */
  readonly authorizer?: Authorizer | undefined;
}

export interface WriteParts extends DecisionParts {
  readonly store: Store;
}

export interface WriteResult {
  readonly object: KubeObject;
  /** Set when `object` is exactly what is stored, so that its encoded form can be used. */
  readonly stored?: StoredObject | undefined;
  readonly warnings: readonly string[];
  /** Whether an update made the object. */
  readonly created?: boolean | undefined;
  /** A write of before, found by its key in the history of the branch; its object may be gone. */
  readonly isReplayed?: true | undefined;
  /** The commit that holds the write; absent for dry runs and writes that changed nothing. */
  readonly commit?: string | undefined;
}

export interface DeleteResult extends WriteResult {
  /** False while finalizers or a grace period keep the object readable. */
  readonly gone: boolean;
}
