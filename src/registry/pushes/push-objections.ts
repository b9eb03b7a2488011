/**
 * Objections to one change of a push: missing rights, and the rules of API writes. Both treat it as
 * if it had come through the API.
 */
import { objectProblems } from '../../admission/index.ts';
import {
  type Authorizer,
  CONTROL_FILES,
  describeKey,
  flatMapYielding,
  formatFieldError,
  keyString,
  type ObjectKey,
  sameKey,
  shownPath,
  type User,
  withoutValues,
} from '../../apimachinery/index.ts';
import { encryptedPathsOf, encryptedValuesOf, type ObjectChange } from '../../catalog/index.ts';
import {
  hasKeyOwner,
  isEncryptedKind,
  isKeyOwner,
  type Kind,
  sourcesOfSecrets,
} from '../../kinds/index.ts';
import { serveObject } from '../projection/served-object.ts';
import { mayReadSecrets } from '../secret-readers.ts';
import { isAnew, verbsOf } from '../writes/change-verbs.ts';
import { copiesProblem, dataSize, followersOf, newSource } from '../writes/copied-data.ts';
import type { Following, Guard, PlannedChange, WriteParts } from '../writes/write-context.ts';

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
    const kind = this.#options.kinds.byKey(change.key);
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
    const kind = this.#options.kinds.byKey(change.key);
    if (kind === undefined) return false;
    return isEncryptedKind(kind) || encryptedPathsOf(change).length > 0;
  }

  /** True if the user may read every object that may have had the values, and so may copy them. */
  mayCopy(change: ObjectChange, user: User): boolean {
    return this.#sourcesOf(change).every((kind) => this.#mayReadAll(kind, '', user));
  }

  /** True if the user may read the object, and every former one of its name. */
  mayReadNames(change: Pick<ObjectChange, 'key'>, user: User): boolean {
    const kind = this.#options.kinds.byKey(change.key);
    return kind !== undefined && this.#mayReadAll(kind, change.key.namespace, user);
  }

  /** One line per object with the encrypted values of another one that the user may not read. */
  ofCopies(copies: readonly ObjectChange[], user: User): string[] {
    return copies.map((change) => {
      const { place, denied } = this.#unreadSources(change, user);
      return `${place}: ${describeKey(change.key)}: Forbidden: its values were encrypted for another object or an earlier state, and ${denied}; encrypt them anew with "gitplane rotate ${place}"`;
    });
  }

  /** One line per object with encrypted values that are not compared with those of the history. */
  ofUncompared(changes: readonly ObjectChange[], mostValues: number, user: User): string[] {
    return changes.map((change) => {
      const { place, denied } = this.#unreadSources(change, user);
      const limit = mostValues.toLocaleString('en');
      return `${place}: ${describeKey(change.key)}: Forbidden: its values may be those of another object: the history has more than ${limit} encrypted values, which are not compared, and ${denied}; a user who can has to push it`;
    });
  }

  /** The file of a change, and the kinds that its values may come from and the user may not read. */
  #unreadSources(change: ObjectChange, user: User): { place: string; denied: string } {
    const unread = this.#sourcesOf(change).filter((kind) => !this.#mayReadAll(kind, '', user));
    const plurals = unread.map(({ plural }) => plural).join(', ');
    return {
      place: shownPath(change.after?.place.path ?? ''),
      denied: `User ${JSON.stringify(user.name)} cannot get every one of the ${plurals}`,
    };
  }

  /**
   * One line per object that a merge may not bring back: its past, which the user may not read, would open,
   * or what its deletion revoked would be valid again, since sessions and tokens go by its uid.
   */
  ofRestored(restored: readonly ObjectChange[], user: User): string[] {
    return restored.flatMap((change) => {
      const { key, before, after } = change;
      const kind = this.#options.kinds.byKey(key);
      if (kind === undefined) return [];
      const place = shownPath(after?.place.path ?? '');
      if (before !== undefined && !isAnew(change)) {
        return `${place}: ${describeKey(key)}: its owner was deleted, and a merge gives it to a later one of that name; give it a new text`;
      }
      const why = this.#againstRestoring(kind, key, user);
      return why === undefined
        ? []
        : `${place}: ${describeKey(key)}: ${why}; leave it out of the merge, and create it in a later commit`;
    });
  }

  /** One line per source whose data a push copies to too many new objects. */
  async ofNewCopies(planned: readonly ObjectChange[]): Promise<string[]> {
    const { kinds, store } = this.#options;
    const sources = await flatMapYielding(planned, ({ key, before, after }) => {
      const kind = kinds.byKey(key);
      const source = kind && newSource(kind, after?.manifest, before?.manifest);
      return source === undefined ? [] : [source];
    });
    const counted = new Map<string, { source: ObjectKey; copies: number }>();
    for (const source of sources) {
      const known = counted.get(keyString(source));
      counted.set(keyString(source), { source, copies: (known?.copies ?? 0) + 1 });
    }
    if (counted.size === 0) return [];
    const pushed = new Map(planned.map(({ key, after }) => [keyString(key), after]));
    return [...counted].flatMap(([id, { source, copies: added }]) => {
      const object = pushed.has(id) ? pushed.get(id)?.manifest : store.get(source)?.object;
      const bytes = dataSize(object);
      const copies = followersOf(kinds, store, { source, bytes, added });
      const problem = copiesProblem(source, bytes, copies);
      return problem === undefined ? [] : [problem];
    });
  }

  /**
   * One line per object that a move brings under a rule with further recipients, or one that encrypts less. The move
   * decides who reads later values, so it takes the right to read and update the object, or to change control files.
   */
  async ofMoves(moved: readonly ObjectChange[], user: User): Promise<string[]> {
    if (moved.length === 0 || this.#mayChangeControlFiles(user)) return [];
    return await flatMapYielding(moved, ({ key, after }) => {
      const kind = this.#options.kinds.byKey(key);
      const { namespace, name } = key;
      const lacking = ['get', 'update'].flatMap((verb) =>
        kind === undefined ? [] : this.#lacking(kind, { verb, namespace, name }, user),
      );
      const place = shownPath(after?.place.path ?? '');
      return lacking.map(
        (text) =>
          `${place}: ${describeKey(key)}: ${text}, and .sops.yaml has other recipients for this place, or encrypts less there, than for the former one`,
      );
    });
  }

  #mayChangeControlFiles(user: User): boolean {
    const { kinds, authorizer } = this.#options;
    const [group = ''] = kinds.groups;
    const asked = { verb: 'update', group, ...CONTROL_FILES, namespace: '', name: '' };
    return authorizer.authorize(user, asked).allowed;
  }

  /** One line per control file that the user may not change. */
  ofControlFiles(paths: readonly string[], user: User): string[] {
    if (paths.length === 0 || this.#mayChangeControlFiles(user)) return [];
    const [group = ''] = this.#options.kinds.groups;
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

  #againstRestoring(kind: Kind, key: ObjectKey, user: User): string | undefined {
    const { namespace } = key;
    if (hasKeyOwner(key) || isKeyOwner(key)) {
      return 'a merge brings it back from before its deletion, and all that the deletion revoked would be valid again';
    }
    if (this.#mayReadAll(kind, namespace, user)) return undefined;
    const where = namespace === '' ? '' : ` in the namespace ${JSON.stringify(namespace)}`;
    return `Forbidden: a merge brings it back from before its deletion, with its past, and User ${JSON.stringify(user.name)} cannot get every one of the ${kind.plural}${where}`;
  }

  /** Kinds that the encrypted values of an object may come from. */
  #sourcesOf(change: ObjectChange): Kind[] {
    const kind = this.#options.kinds.byKey(change.key);
    if (kind === undefined) return [];
    const isBeside = encryptedPathsOf(change).length > 0;
    const manifest = change.after?.manifest;
    return sourcesOfSecrets(this.#options.kinds, { kind, manifest, isBeside });
  }

  /** `namespace`: empty for all of them. */
  #mayReadAll(kind: Kind, namespace: string, user: User): boolean {
    return mayReadSecrets(this.#options.authorizer, kind, { namespace, user });
  }

  #planned(kind: Kind, change: ObjectChange, user: User): PlannedChange {
    const stored = this.#options.store.get(change.key);
    const previous = isAnew(change) ? undefined : stored;
    const served =
      change.after === undefined
        ? undefined
        : serveObject(kind, change.after, { previous, time: this.#options.clock.now() });
    const { object, hidden: brings } = served ?? {};
    const following = followingOf(change);
    return { user, kind, object, old: previous?.object, brings, following };
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

/** Two commits of a push can take the labels away and set them again, so the manifests alone do not tell. */
function followingOf(change: ObjectChange): Following | undefined {
  const now = change.after?.ownerBinding;
  if (now === undefined) return undefined;
  const was = isAnew(change) ? undefined : change.before?.ownerBinding;
  const { incarnation } = now;
  const isSame =
    was !== undefined &&
    sameKey(was.owner, now.owner) &&
    // The right to wait was the right to every name.
    (was.incarnation === undefined || was.incarnation === incarnation);
  return { begins: !isSame, hasSource: incarnation !== undefined };
}

/** Every objection as one line, for a push. */
function guardObjections(guards: readonly Guard[], change: PlannedChange): string[] {
  return guards.flatMap((guard) => guard(change)?.message.replaceAll('\n', ' ') ?? []);
}
