/**
 * The environment of every git process we start: the repository is named, and nothing of the
 * user's or the system's configuration, locale, replacement refs or grafts can change an answer.
 */
import { devNull } from 'node:os';

/** A repository for child processes. */
export interface GitContext {
  /** Absolute. */
  readonly gitDir: string;
  /** Added to the environment: where a quarantine is, what a hook is told. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration of this call alone, on no disk and no command line. */
  readonly config?: readonly (readonly [string, string])[];
}

/** What finding and running programs needs, and nothing else of ours. */
const inherited = ['PATH', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot'];

/** A pack that a push sends, after it was unpacked from the request. */
export const MAX_PUSH_BYTES = 2 ** 31;

/** Of the repository too, because a push by path runs the pusher's git. */
export const SIZE_LIMITS: readonly (readonly [string, string])[] = [
  ['receive.maxInputSize', String(MAX_PUSH_BYTES)],
  // A larger blob is no manifest: git passes it on in pieces and looks for no delta.
  ['core.bigFileThreshold', '16m'],
];

/** Configuration that holds whatever the repository's own file says. */
const configuration: readonly (readonly [string, string])[] = [
  // git makes only objects durable unless told otherwise; an acknowledged push needs its ref too.
  ['core.fsync', 'objects,derived-metadata,reference'],
  ['gc.auto', '0'],
  ['receive.autogc', 'false'],
  ['receive.fsckObjects', 'true'],
  ['transfer.fsckObjects', 'true'],
  // Names that are `.git` to the file systems of macOS and Windows.
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  // Each thread of a packer has memory of its own, and the whole process has one limit.
  ['pack.threads', '2'],
  ['pack.windowMemory', '64m'],
  ['pack.deltaCacheSize', '64m'],
  ['core.deltaBaseCacheLimit', '32m'],
  ...SIZE_LIMITS,
];

export function gitEnvironment(context: GitContext): Record<string, string> {
  const settings = [
    ...configuration,
    ['safe.directory', context.gitDir] as const,
    ...(context.config ?? []),
  ];
  return {
    ...inheritedEnvironment(),
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_DIR: context.gitDir,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    // Grafts give commits other parents than they have, and objects another identity.
    GIT_GRAFT_FILE: `${devNull}/none`,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
    ...context.env,
  };
}

/** What any program of ours gets of the daemon's own environment. */
export function inheritedEnvironment(): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of inherited) {
    // biome-ignore lint/style/noProcessEnv: a child needs PATH; these are no options of gitplane
    const value = process.env[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}
