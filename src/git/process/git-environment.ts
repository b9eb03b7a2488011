/**
 * Environment of every git process: it names the repository, and keeps out the config of the user and
 * of the system, the locale, replacement refs and grafts, any of which could change an answer.
 */

import { devNull } from 'node:os';

/** A repository for child processes. */
export interface GitContext {
  /** Absolute path. */
  readonly gitDir: string;
  /** Additional environment, for example of a quarantine or for a hook. */
  readonly env?: Readonly<Record<string, string>>;
  /** Config of this process only; it is neither written to disk nor on the command line. */
  readonly config?: readonly (readonly [string, string])[];
}

/** Variables that a child needs to find and run programs. */
const INHERITED = ['PATH', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot'];

/** Limit for the pack of a push, after the request body was decompressed. */
export const MAX_PUSH_BYTES = 2 ** 31;

/** Also stored in the repository, because a push by path runs the git of the pusher. */
export const SIZE_LIMITS: readonly (readonly [string, string])[] = [
  ['receive.maxInputSize', String(MAX_PUSH_BYTES)],
  // A larger blob is not a manifest: git streams it and computes no delta.
  ['core.bigFileThreshold', '16m'],
];

/** Config that overrides the file of the repository. */
const configuration: readonly (readonly [string, string])[] = [
  // By default git flushes only objects; an acknowledged push needs its ref too.
  ['core.fsync', 'objects,derived-metadata,reference'],
  ['gc.auto', '0'],
  ['receive.autogc', 'false'],
  ['receive.fsckObjects', 'true'],
  ['transfer.fsckObjects', 'true'],
  // Names that are `.git` to the file systems of macOS and Windows.
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  // Each thread of a packer has its own memory, and the whole process has one limit.
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
    // Grafts change the parents of commits, and with them the identity of objects.
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

/** Environment that names the author and committer of commits. */
export function identityEnvironment({
  name,
  email,
}: Readonly<Record<'name' | 'email', string>>): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

/** Part of the environment of the daemon that its child processes get. */
export function inheritedEnvironment(names = INHERITED): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of names) {
    // biome-ignore lint/style/noProcessEnv: child processes need it; these are not options of gitplane
    const value = process.env[name];
    if (value !== undefined) result[name] = value;
  }
  return result;
}
