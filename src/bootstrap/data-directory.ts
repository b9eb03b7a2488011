/** Files of a daemon by name (design section 7). */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { removeTemporariesIn } from '../files/index.ts';
import { errnoOf, StartError } from './start-error.ts';

export interface DataDirectory {
  readonly root: string;
  readonly repository: string;
  readonly state: string;
  readonly stateKey: string;
  /** Objects of clusters that this daemon serves beside the platform. */
  readonly clusters: string;
  /** Kubeconfigs that tenants refer to by file name; the operator creates them. */
  readonly kubeconfigs: string;
  readonly tls: string;
  readonly adminToken: string;
  readonly hookSecret: string;
  readonly kubeconfig: string;
  readonly signingKey: string;
  /** Signing keys of the OpenID provider. */
  readonly oidcKeys: string;
  /** age identity for decrypting secrets. */
  readonly ageKey: string;
  /** Next runs of scheduled jobs. */
  readonly jobs: string;
}

/** Folders of the data directory with files that are written by way of a temporary file. */
const FOLDERS = ['', 'tls', 'peers', 'oidc'];

/**
 * Makes the directory where it is missing, and removes temporary files, with secrets in them, that
 * a killed process left. Throws StartError when the directory cannot be used.
 */
export function openDataDirectory(path: string): DataDirectory {
  const root = resolve(path);
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    if (!statSync(root).isDirectory()) throw new StartError(`${root} is not a directory`);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof StartError) throw error;
    const why = REASONS[errnoOf(error) ?? ''] ?? String(error);
    throw new StartError(
      `Cannot use the data directory ${root}: ${why}; choose another with --data-dir`,
      { cause: error },
    );
  }
  for (const folder of FOLDERS) removeTemporariesIn(join(root, folder));
  return {
    root,
    repository: join(root, 'repo.git'),
    state: join(root, 'state'),
    stateKey: join(root, 'state.key'),
    clusters: join(root, 'clusters'),
    kubeconfigs: join(root, 'kubeconfigs'),
    tls: join(root, 'tls'),
    adminToken: join(root, 'admin.token'),
    hookSecret: join(root, 'hook.secret'),
    kubeconfig: join(root, 'kubeconfig'),
    signingKey: join(root, 'token-signing.key'),
    oidcKeys: join(root, 'oidc'),
    ageKey: join(root, 'age.key'),
    jobs: join(root, 'jobs.json'),
  };
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'a file is in its place',
};
