/**
 * Annotations that link the data of a secret to a path of the secret store (spec section 2.8.11;
 * docs: secret-store). A link needs a mount and a path. Every policy that could delete or overwrite a
 * value is off by default.
 */
import {
  dnsLabelProblems,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  type KubeObject,
  notSupported,
  parseGoDuration,
  required,
} from '../../apimachinery/index.ts';
import {
  DEFAULT_POLICY,
  mayPush,
  type Resolution,
  type SyncPolicy,
} from '../../secrets-merge/index.ts';
import type { Kind } from '../kind.ts';

/** Name of the store of `secretStore`. */
export const DEFAULT_STORE = 'default';

/** Store and path of a secret, and the policy of its sync. */
export interface StoreLink {
  /** Name of the store. */
  readonly store: string;
  /** Without slashes at its ends. */
  readonly mount: string;
  /** Below the mount. */
  readonly path: string;
  /** Absent: detected from the store. */
  readonly version?: 1 | 2;
  readonly policy: SyncPolicy;
  /** Absent: the interval of the store. */
  readonly intervalMs?: number;
  readonly resolution?: Resolution;
}

/** Annotation with the name of the store. Absent: the default store. */
export const STORE_ANNOTATION = 'gitplane.dev/secret-store';
const PREFIX = `${STORE_ANNOTATION}-`;

/** Both are required. */
const MOUNT = 'kv-mount-path';
const PATH = 'kv-secret-path';
const VERSION = 'kv-version';
const RESOLVE = 'resolve';
const MERGE = 'merge';
const INTERVAL = 'sync-interval';

/** Values of an annotation, and their names in the policy. */
const CHOICES = {
  direction: { pull: 'Pull', push: 'Push', both: 'Both' },
  adopt: { hold: 'Hold', 'prefer-git': 'PreferGit', 'prefer-store': 'PreferStore' },
  conflict: { hold: 'Hold', 'prefer-git': 'PreferGit', 'prefer-store': 'PreferStore' },
  'deletion-in-git': { retain: 'Retain', 'soft-delete': 'SoftDelete' },
  'deletion-in-store': { retain: 'Retain', delete: 'Delete' },
  'foreign-keys': { sync: 'Sync', ignore: 'Ignore' },
  'store-older': { hold: 'Hold', 'prefer-git': 'PreferGit', 'prefer-store': 'PreferStore' },
} as const;

const FIELDS: Readonly<Record<keyof typeof CHOICES, keyof SyncPolicy>> = {
  direction: 'direction',
  adopt: 'adopt',
  conflict: 'conflict',
  'deletion-in-git': 'deletionInGit',
  'deletion-in-store': 'deletionInStore',
  'foreign-keys': 'foreignKeys',
  'store-older': 'storeOlder',
};

const VERSIONS: Readonly<Record<string, 1 | 2>> = { kv1: 1, kv2: 2 };
const KNOWN = new Set([MOUNT, PATH, VERSION, RESOLVE, MERGE, INTERVAL, ...Object.keys(CHOICES)]);
/** Lower limit, to bound the requests to a store. */
const SHORTEST_INTERVAL_MS = 1_000;

/** Paths of the store itself, which are not secret engines. */
const NO_MOUNTS = new Set(['sys', 'auth', 'identity', 'cubbyhole']);
const LONGEST_PATH = 512;

/** Label with the name of the pull that made an object. */
export const PULL_LABEL = 'gitplane.dev/secret-store-pull';
/** Annotations for an object that a pull creates: its path in the store and its deletion policy. */
export function linkAnnotations(
  { store, mount, path }: Pick<StoreLink, 'store' | 'mount' | 'path'>,
  isDeleted: boolean,
): Record<string, string> {
  return {
    ...(store !== DEFAULT_STORE && { [STORE_ANNOTATION]: store }),
    [PREFIX + MOUNT]: mount,
    [PREFIX + PATH]: path,
    ...(isDeleted && { [`${PREFIX}deletion-in-store`]: 'delete' }),
  };
}

interface ReadLink {
  /** Undefined: the object has no link, or one with problems. */
  readonly link?: StoreLink;
  readonly problems: readonly FieldError[];
}

/** False: a JSON text is not an object with a link. A quick test, for many objects. */
export function mentionsLink(json: Buffer): boolean {
  return json.includes(PREFIX);
}

/** The place that a link is about, for people: `secret/app/mail`, or `eu:secret/app/mail` in the store `eu`. */
export function placeOf({
  store,
  mount,
  path,
}: Pick<StoreLink, 'store' | 'mount' | 'path'>): string {
  return `${store === DEFAULT_STORE ? '' : `${store}:`}${mount}/${path}`;
}

/** Undefined: the object follows nothing, or its annotations have problems. */
export function storeLinkOf(kind: Kind, object: KubeObject): StoreLink | undefined {
  return kind.followsStore ? readLink(object).link : undefined;
}

/** Names of the annotations of an object that are about the store. */
export function storeAnnotations({ metadata }: KubeObject): string[] {
  return Object.keys(metadata.annotations ?? {}).filter(
    (name) => name === STORE_ANNOTATION || name.startsWith(PREFIX),
  );
}

export function storeLinkProblems(object: KubeObject): readonly FieldError[] {
  return readLink(object).problems;
}

function readLink({ metadata }: KubeObject): ReadLink {
  const { [STORE_ANNOTATION]: store } = metadata.annotations ?? {};
  const given = Object.entries(metadata.annotations ?? {})
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, text]): [string, string] => [name.slice(PREFIX.length), text]);
  if (given.length === 0 && store === undefined) return { problems: [] };
  const texts = new Map(given);
  const problems = [...storeNameProblems(store), ...unknownNames(texts), ...placeProblems(texts)];
  const { policy, problems: wrong } = readPolicy(texts);
  const { resolution, problems: unresolved } = readResolution(texts.get(RESOLVE));
  const version = texts.get(VERSION);
  const interval = texts.get(INTERVAL);
  const intervalMs = interval === undefined ? undefined : parseGoDuration(interval);
  problems.push(...wrong, ...unresolved, ...versionProblems(version, policy));
  problems.push(...intervalProblems(interval, intervalMs));
  if (problems.length > 0) return { problems };
  const known = VERSIONS[version ?? ''];
  const link: StoreLink = {
    store: store ?? DEFAULT_STORE,
    mount: trimmed(texts.get(MOUNT) ?? ''),
    path: trimmed(texts.get(PATH) ?? ''),
    policy,
    ...(known !== undefined && { version: known }),
    ...(intervalMs !== undefined && { intervalMs }),
    ...(resolution !== undefined && { resolution }),
  };
  return { link, problems };
}

function versionProblems(version: string | undefined, policy: SyncPolicy): FieldError[] {
  if (version !== undefined && !Object.hasOwn(VERSIONS, version)) {
    return [notSupported(at(VERSION), version, Object.keys(VERSIONS))];
  }
  return VERSIONS[version ?? ''] === 1 && policy.deletionInGit === 'SoftDelete'
    ? [forbidden(at('deletion-in-git'), 'KV v1 has no soft delete')]
    : [];
}

function intervalProblems(text: string | undefined, intervalMs = 0): FieldError[] {
  if (text === undefined || intervalMs >= SHORTEST_INTERVAL_MS) return [];
  const detail = 'must be a duration of at least one second, as in "30s" or "1h"';
  return [invalid(at(INTERVAL), text, detail)];
}

function storeNameProblems(store = DEFAULT_STORE): FieldError[] {
  const path: FieldPath = ['metadata', 'annotations', STORE_ANNOTATION];
  return dnsLabelProblems(store).map((problem) => invalid(path, store, problem));
}

function unknownNames(texts: ReadonlyMap<string, string>): FieldError[] {
  const names = [...KNOWN].join(', ');
  return [...texts.keys()]
    .filter((name) => !KNOWN.has(name))
    .map((name) =>
      forbidden(at(name), `unknown annotation; the names after ${PREFIX} are ${names}`),
    );
}

function placeProblems(texts: ReadonlyMap<string, string>): FieldError[] {
  return [MOUNT, PATH].flatMap((name) => {
    const text = texts.get(name);
    if (text === undefined || text === '') {
      return [required(at(name), 'a link to the store needs a mount and a path')];
    }
    const why = name === MOUNT ? mountPathProblem(text) : pathProblem(text);
    return why === undefined ? [] : [invalid(at(name), text, why)];
  });
}

/** Problem of the path of a mount. */
export function mountPathProblem(text: string): string | undefined {
  return pathProblem(text) ?? mountProblem(text);
}

/** Problem of a path below a mount. */
export function pathProblem(text: string): string | undefined {
  if (text.length > LONGEST_PATH) return `must have at most ${LONGEST_PATH} characters`;
  if (/[\p{Cc}\p{Cs}\s?#%*+]/u.test(text)) {
    return 'must have no spaces, control characters and none of "?", "#", "%", "*" and "+"';
  }
  const parts = trimmed(text).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return 'must have no empty part, and no part "." or ".."';
  }
  return text.endsWith('.') ? 'must not end with a period' : undefined;
}

function mountProblem(text: string): string | undefined {
  const [first = ''] = trimmed(text).split('/');
  return NO_MOUNTS.has(first) ? 'is not a KV engine but the store itself' : undefined;
}

function readPolicy(texts: ReadonlyMap<string, string>): {
  policy: SyncPolicy;
  problems: FieldError[];
} {
  const problems: FieldError[] = [];
  const chosen: Record<string, unknown> = {};
  for (const name of Object.keys(CHOICES) as (keyof typeof CHOICES)[]) {
    const text = texts.get(name);
    if (text === undefined) continue;
    const choices: Readonly<Record<string, string>> = CHOICES[name];
    if (Object.hasOwn(choices, text)) chosen[FIELDS[name]] = choices[text];
    else problems.push(notSupported(at(name), text, Object.keys(choices)));
  }
  const { merge, problem } = readMerge(texts.get(MERGE));
  if (problem !== undefined) problems.push(problem);
  const policy = { ...DEFAULT_POLICY, ...chosen, merge };
  if (policy.deletionInGit === 'SoftDelete' && !mayPush(policy)) {
    const detail = 'needs a direction that pushes to the store: "push" or "both"';
    problems.push(forbidden(at('deletion-in-git'), detail));
  }
  return { policy, problems };
}

/** `keys`, `object`, or groups of keys that change together: `user,password;cert,key`. */
function readMerge(text: string | undefined): {
  merge: SyncPolicy['merge'];
  problem?: FieldError;
} {
  if (text === undefined || text === 'keys' || text === 'object') return { merge: text ?? 'keys' };
  const groups = text.split(';').map((group) => group.split(',').map((key) => key.trim()));
  const keys = groups.flat();
  const isFine =
    keys.every((key) => /^[-._a-zA-Z0-9]+$/.test(key)) &&
    groups.every((group) => group.length > 1) &&
    new Set(keys).size === keys.length;
  if (isFine) return { merge: groups };
  const detail =
    'must be "keys", "object", or groups of at least two keys as in "user,password;cert,key", each key once';
  return { merge: 'keys', problem: invalid(at(MERGE), text, detail) };
}

function readResolution(text: string | undefined): {
  resolution?: Resolution;
  problems: FieldError[];
} {
  if (text === undefined) return { problems: [] };
  if (!/^(?:git@[0-9a-f]{40}|store@\d{1,15})$/.test(text)) {
    const detail = 'must be git@<commit> or store@<version>, as the condition Synced shows it';
    return { problems: [invalid(at(RESOLVE), text, detail)] };
  }
  const [winner, id = ''] = text.split('@');
  return { resolution: { winner: winner === 'git' ? 'git' : 'store', id }, problems: [] };
}

function at(name: string): FieldPath {
  return ['metadata', 'annotations', PREFIX + name];
}

function trimmed(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}
