/** A queued write: a key, and a function that decides the change. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Person } from '../../git/index.ts';
import type { Change, StoredObject } from '../../state/index.ts';
import type { Deletion } from '../projection/served-object.ts';
import type { FieldWrite } from './field-managers.ts';
import type { ObjectEdit } from './file-edits.ts';

/** Result of deciding a write on the newest state. */
export type Prepared =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'commit';
      readonly edit: ObjectEdit;
      readonly author: Person;
      readonly message: string;
      /** Set if finalizers or a grace period keep the object: from now on only the state has it. */
      readonly deletion?: Deletion;
      /** Effect on the managed fields. */
      readonly fields?: FieldWrite;
    }
  /**
   * A change of data that is not in git, such as finalizers of an object whose manifest is gone.
   */
  | {
      readonly do: 'state';
      readonly changes: readonly Change[];
      /** Set if the change must survive a crash. Observed state is observed again. */
      readonly durable?: true;
    };

export interface Write {
  readonly key: ObjectKey;
  /** Called under the mutex, and again after the branch moved. Throws StatusError to refuse. */
  prepare(inFlight?: InFlight): Prepared;
}

/** Changes of earlier writes that readers do not see yet. */
export type InFlight = () => readonly ObjectChange[];

/** Result of a write: the stored object, if it still exists, and the commit. */
export interface Written {
  readonly stored: StoredObject | undefined;
  readonly commit: string | undefined;
}
