/** A write as the queue takes it: an object, and what is to become of it, decided in its turn. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import type { Person } from '../../git/index.ts';
import type { Change, StoredObject } from '../../state/index.ts';
import type { Deletion } from '../projection/served-object.ts';
import type { FieldWrite } from './field-managers.ts';
import type { ObjectEdit } from './file-edits.ts';

/** What a write wants, decided in its turn on the newest state. */
export type Prepared =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'commit';
      readonly edit: ObjectEdit;
      readonly author: Person;
      readonly message: string;
      /** Of an object that something holds: from here on only the state knows it. */
      readonly deletion?: Deletion;
      /** What it does to the record of who owns which field. */
      readonly fields?: FieldWrite;
    }
  /** A change of what is not in git, such as finalizers of an object whose manifest is gone. */
  | {
      readonly do: 'state';
      readonly changes: readonly Change[];
      /** Whether it must outlive a crash; what is only observed comes back by itself. */
      readonly durable?: true;
    };

export interface Write {
  readonly key: ObjectKey;
  /** Called in the write's turn, and again after the branch moved. Throws StatusError to refuse. */
  prepare(): Prepared;
}

/** How a write ended: the object as it is now stored, if it still is, and the commit. */
export interface Written {
  readonly stored: StoredObject | undefined;
  readonly commit: string | undefined;
}
