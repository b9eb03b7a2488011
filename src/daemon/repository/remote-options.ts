/** Parses and validates the options of `gitplane serve` for a followed repository. */
import { parseGoDuration } from '../../apimachinery/index.ts';
import { parseRemoteAddress, type RemoteAccess, type RemoteAddress } from '../../git/index.ts';
import { type ParsedOptions, readChoice, readPath, UsageError } from '../../options/index.ts';

/** A remote branch that the platform follows. */
export interface RemoteSource {
  readonly address: RemoteAddress;
  readonly access: RemoteAccess;
  readonly intervalMs: number;
  readonly hookSecretFile: string | undefined;
  /** Review branch for writes; undefined: writes go to the followed branch. */
  readonly writeBranch: string | undefined;
}

const REMOTE_ONLY = [
  'repo-username',
  'repo-token',
  'repo-token-file',
  'repo-ca',
  'repo-client-cert',
  'repo-client-key',
  'repo-ssh-key',
  'repo-known-hosts',
  'hook-secret-file',
  'write-branch',
];

/** Undefined: the repository is hosted. Throws UsageError. */
export function readRemote(options: ParsedOptions): RemoteSource | undefined {
  const text = options.text('repo');
  if (text === undefined || text === '') {
    const alone = REMOTE_ONLY.find((name) => options.text(name) !== undefined);
    if (alone === undefined) return undefined;
    throw new UsageError(`--${alone} is for a repository that is followed: give --repo too`);
  }
  if (options.text('seed') !== undefined) {
    throw new UsageError('--seed is for a hosted repository: a remote one is never seeded');
  }
  if (
    options.text('repo-client-key') !== undefined &&
    options.text('repo-client-cert') === undefined
  ) {
    throw new UsageError(
      '--repo-client-key is the key of a certificate: give --repo-client-cert too',
    );
  }
  return {
    address: parseRemoteAddress(text),
    access: {
      username: options.text('repo-username'),
      token: options.text('repo-token'),
      tokenFile: readPath(options, 'repo-token-file'),
      tokenType: readChoice(options, 'repo-token-type', ['basic', 'bearer']),
      caFile: readPath(options, 'repo-ca'),
      clientCertFile: readPath(options, 'repo-client-cert'),
      clientKeyFile: readPath(options, 'repo-client-key'),
      sshKeyFile: readPath(options, 'repo-ssh-key'),
      knownHostsFile: readPath(options, 'repo-known-hosts'),
    },
    intervalMs: readInterval(options, 'fetch-interval'),
    hookSecretFile: readPath(options, 'hook-secret-file'),
    writeBranch: readWriteBranch(options),
  };
}

function readWriteBranch(options: ParsedOptions): string | undefined {
  const name = options.text('write-branch');
  if (name === undefined || name === '') return undefined;
  const followed = options.required('branch');
  // Neither name can be a folder of the other, because git stores branches as files.
  if (name !== followed && !name.startsWith(`${followed}/`) && !followed.startsWith(`${name}/`)) {
    return name;
  }
  throw new UsageError(`Cannot use --write-branch ${name} beside --branch ${followed}`);
}

const SHORTEST_INTERVAL_MS = 100;

function readInterval(options: ParsedOptions, name: string): number {
  const text = options.required(name);
  const milliseconds = parseGoDuration(text);
  if (milliseconds !== undefined && milliseconds >= SHORTEST_INTERVAL_MS) return milliseconds;
  throw new UsageError(`Cannot use --${name} "${text}": write a time like 60s or 5m`);
}
