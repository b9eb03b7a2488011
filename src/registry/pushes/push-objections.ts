/**
 * Objections to one change of a push: missing rights, and the rules of API writes. Both treat it as
 * if it had come through the API.
 */
import { objectProblems } from '../../admission/index.ts';
import {
  type Authorizer,
  CONTROL_FILES,
  describeKey,
  formatFieldError,
  shownPath,
  type User,
  withoutValues,
} from '../../apimachinery/index.ts';
import { encryptedPathsOf, encryptedValuesOf, type ObjectChange } from '../../catalog/index.ts';
import { isEncryptedKind, type Kind, keyManifestFor } from '../../kinds/index.ts';
import { serveObject } from '../projection/served-object.ts';
import { isAnew, verbsOf } from '../writes/change-verbs.ts';
import type { Guard, PlannedChange, WriteParts } from '../writes/write-context.ts';

export interface PushObjectionsOptions
  extends Pick<WriteParts, 'kinds' | 'store' | 'clock' | 'guards'> {
  readonly authorizer: Authorizer;
}

export class PushObjections {
  readonly #options: PushObjectionsOptions;

  constructor(options: PushObjectionsOptions) {
    this.#options = options;
  }

  /** One line per objection, with the place; empty: the change is allowed. */
  of(change: ObjectChange, user: User): string[] {
    const place = shownPath((change.after ?? change.before)?.place.path ?? '');
    const kind = kindOf(this.#options, change);
    if (kind === undefined) return [];
    const { deletionTimestamp, finalizers = [] } =
      this.#options.store.get(change.key)?.object.metadata ?? {};
    if (deletionTimestamp !== undefined && change.before === undefined) {
      return [
        `${place}: ${describeKey(change.key)} is still being deleted; push again when it is gone`,
      ];
    }
    if (isAnew(change) && finalizers.length > 0) {
      return [
        `${place}: ${describeKey(change.key)} has finalizers, and this push removes it and creates it again; push the removal alone, and create it when it is gone`,
      ];
    }
    const planned = this.#planned(kind, change, user);
    const denied = this.#denied(kind, change, user);
    const objections = denied.length > 0 ? denied : this.#ruledOut(planned);
    const values = encryptedValuesOf(change);
    return objections.map(
      (text) => `${place}: ${describeKey(change.key)}: ${withoutValues(text, values)}`,
    );
  }

  /** True if an object may hold values that git has encrypted. */
  holdsSecrets(change: ObjectChange): boolean {
    const kind = kindOf(this.#options, change);
    if (kind === undefined) return false;
    return isEncryptedKind(kind) || encryptedPathsOf(change).length > 0;
  }

  /** True if the user may read every object of the kind, and so may copy the values of any. */
  mayCopy(change: Pick<ObjectChange, 'key'>, user: User): boolean {
    const kind = kindOf(this.#options, change);
    return kind === undefined || this.#mayReadAll(kind, '', user);
  }

  /** True if the user may read the object, and every former one of its name. */
  mayReadNames(change: Pick<ObjectChange, 'key'>, user: User): boolean {
    const kind = kindOf(this.#options, change);
    return kind !== undefined && this.#mayReadAll(kind, change.key.namespace, user);
  }

  /** One line per object with the encrypted values of another one that the user may not read. */
  ofCopies(copies: readonly ObjectChange[], user: User): string[] {
    return copies.flatMap((change) => {
      const kind = kindOf(this.#options, change);
      if (kind === undefined) return [];
      const place = shownPath(change.after?.place.path ?? '');
      return [
        `${place}: ${describeKey(change.key)}: Forbidden: its values were encrypted for another object or an earlier state, and User ${JSON.stringify(user.name)} cannot get every one of the ${kind.plural}; encrypt them anew with "gitplane rotate ${place}"`,
      ];
    });
  }

  /** One line per object whose past the user may not read: the right on a name shows only its present life. */
  ofRestored(restored: readonly ObjectChange[], user: User): string[] {
    return restored.flatMap((change) => {
      const kind = kindOf(this.#options, change);
      const { namespace } = change.key;
      if (kind === undefined || this.#mayReadAll(kind, namespace, user)) return [];
      const place = shownPath(change.after?.place.path ?? '');
      const where = namespace === '' ? '' : ` in the namespace ${JSON.stringify(namespace)}`;
      return [
        `${place}: ${describeKey(change.key)}: Forbidden: a merge brings it back from before its deletion, with its past, and User ${JSON.stringify(user.name)} cannot get every one of the ${kind.plural}${where}; leave it out of the merge, and create it in a later commit`,
      ];
    });
  }

  /**
   * Lines for users and teams whose sessions and logins work again, which are not in git: as if the
   * pusher had made a key of each.
   */
  ofRevived(restored: readonly ObjectChange[], user: User): string[] {
    const { kinds, guards } = this.#options;
    return restored.flatMap(({ key, after }) => {
      const object = keyManifestFor(key);
      const kind = object && kinds.kinds.find((one) => one.isKey);
      if (kind === undefined) return [];
      const denied = this.#lacking(kind, { verb: 'create', namespace: '', name: '' }, user);
      const planned = { user, kind, object, old: undefined, brings: undefined };
      const objections = denied.length > 0 ? denied : guardObjections(guards, planned);
      const place = shownPath(after?.place.path ?? '');
      return objections.map(
        (text) =>
          `${place}: ${describeKey(key)}: a merge brings it back with its sessions, which takes the rights to make a key of it: ${text}`,
      );
    });
  }

  /** One line per control file that the user may not change. */
  ofControlFiles(paths: readonly string[], user: User): string[] {
    const { kinds, authorizer } = this.#options;
    const [group = ''] = kinds.groups;
    const asked = { verb: 'update', group, ...CONTROL_FILES, namespace: '', name: '' };
    if (paths.length === 0 || authorizer.authorize(user, asked).allowed) return [];
    const name = JSON.stringify(user.name);
    const right = `repository/controlfiles in API group ${JSON.stringify(group)}`;
    return paths.map(
      (path) => `${shownPath(path)}: Forbidden: User ${name} cannot update ${right}`,
    );
  }

  /** Checks that need the former object and the user. */
  #ruledOut(planned: PlannedChange): string[] {
    const { kinds, guards } = this.#options;
    const { kind, object, old } = planned;
    const problems =
      object && old ? objectProblems(kind, kinds.schemaOf(kind), { object, old }) : [];
    return [...problems.map(formatFieldError), ...guardObjections(guards, planned)];
  }

  /** `namespace`: empty for all of them. */
  #mayReadAll({ group, plural: resource }: Kind, namespace: string, user: User): boolean {
    const every = { verb: 'get', group, resource, namespace, name: '' };
    return this.#options.authorizer.authorize(user, every).allowed;
  }

  #planned(kind: Kind, change: ObjectChange, user: User): PlannedChange {
    const stored = this.#options.store.get(change.key);
    const previous = isAnew(change) ? undefined : stored;
    const served =
      change.after === undefined
        ? undefined
        : serveObject(kind, change.after, { previous, time: this.#options.clock.now() });
    const { object, hidden: brings } = served ?? {};
    return { user, kind, object, old: previous?.object, brings };
  }

  #denied(kind: Kind, change: ObjectChange, user: User): string[] {
    const { namespace, name } = change.key;
    return verbsOf(change).flatMap((verb) =>
      // As for a create through the API: rights to single names apply only to existing objects.
      this.#lacking(kind, { verb, namespace, name: verb === 'create' ? '' : name }, user),
    );
  }

  #lacking(
    { group, plural: resource }: Kind,
    of: { readonly verb: string; readonly namespace: string; readonly name: string },
    user: User,
  ): string[] {
    const { allowed, reason } = this.#options.authorizer.authorize(user, {
      group,
      resource,
      ...of,
    });
    const why = reason === '' ? '' : `: ${reason}`;
    const denial = `Forbidden: User ${JSON.stringify(user.name)} cannot ${of.verb} ${resource}`;
    return allowed ? [] : [denial + why];
  }
}

function kindOf(
  { kinds }: Pick<WriteParts, 'kinds'>,
  { key }: Pick<ObjectChange, 'key'>,
): Kind | undefined {
  return kinds.kinds.find(({ group, kind }) => group === key.group && kind === key.kind);
}

/** Every objection as one line, for a push. */
function guardObjections(guards: readonly Guard[], change: PlannedChange): string[] {
  return guards.flatMap((guard) => guard(change)?.message.replaceAll('\n', ' ') ?? []);
}
