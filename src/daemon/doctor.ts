/**
 * `gitplane doctor`: checks a data directory, and prints one line per check with the remedy. It changes
 * nothing, so that it can run beside a daemon.
 */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { terminalJson, terminalText } from '../apimachinery/index.ts';
import { identitiesIn, missingKeys } from '../bootstrap/index.ts';
import { sealingConfigPaths } from '../catalog/index.ts';
import { openEtcd } from '../etcd/index.ts';
import {
  damageRemedy,
  historyDamage,
  packDamage,
  packFiles,
  Reader,
  Remote,
  readRef,
  runGit,
} from '../git/index.ts';
import { SOPS_CONFIG } from '../manifests/index.ts';
import { explainError, type ParsedOptions, readChoice } from '../options/index.ts';
import { Keyring, parseSopsConfig, SealingError, wrapForPgp } from '../sealing/index.ts';
import { openGpgKeyring } from '../signatures/index.ts';
import { lmdbIsReadable } from '../state/index.ts';
import { certificateIn, endOf } from '../tls/index.ts';
import { recordsIn } from './background/job-journal.ts';
import { type DaemonOptions, readDaemonOptions } from './options.ts';
import { etcdOptions } from './replicated/replica-options.ts';

/** Result of a check; without a problem, nothing is wrong. */
interface Finding {
  readonly problem?: string;
  readonly remedy?: string;
  /** Printed when nothing is wrong. */
  readonly detail?: string;
}

interface Examined {
  readonly options: DaemonOptions;
  readonly root: string;
  readonly gitDir: string;
  readonly ref: string;
}

type Check = (of: Examined) => Promise<Finding | undefined>;

const HISTORY_MS = 60 * 60 * 1000;
const ANSWER_MS = 10_000;
const SOON_MS = 14 * 24 * 60 * 60 * 1000;
const AHEAD_MS = 60_000;
const LEAST_FREE_BYTES = 512 * 1024 * 1024;
const LEAST_FREE_SHARE = 0.02;
const STATE_TRIES = 3;
const DATA_KEY_BYTES = 32;

/** In the order of the output. A check returns undefined when it does not apply. */
const CHECKS: Readonly<Record<string, Check>> = {
  repository: checkRepository,
  folders: checkFolders,
  state: checkState,
  keys: checkKeys,
  recipients: checkPgpRecipients,
  certificate: checkCertificates,
  clock: checkClock,
  disk: checkDisk,
  jobs: checkJobs,
  etcd: checkEtcd,
  remote: checkRemote,
};

/** Exit status 1 when a check finds a problem. */
export async function doctor(
  parsed: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  const format = readChoice(parsed, 'output', ['text', 'json']);
  const options = readDaemonOptions(parsed);
  const root = resolve(options.dataDir);
  const gitDir = join(root, 'repo.git');
  const examined = { options, root, gitDir, ref: `refs/heads/${options.branch}` };
  const results: (Finding & { readonly check: string })[] = [];
  for (const [check, run] of Object.entries(CHECKS)) {
    const finding = await run(examined).catch((error: unknown) => ({
      problem: explainError(error),
    }));
    if (finding === undefined) continue;
    results.push({ check, ...finding });
    if (format === 'text') out.write(`${terminalText(lineOf(check, finding))}\n`);
  }
  const healthy = results.every(({ problem }) => problem === undefined);
  if (format === 'json') out.write(`${terminalJson({ healthy, checks: results })}\n`);
  return healthy ? 0 : 1;
}

function lineOf(check: string, { problem, remedy, detail }: Finding): string {
  if (problem === undefined) return `ok       ${check}${detail === undefined ? '' : `: ${detail}`}`;
  return `PROBLEM  ${check}: ${problem}${remedy === undefined ? '' : `. ${remedy}`}`;
}

async function checkRepository({ gitDir, ref }: Examined): Promise<Finding> {
  if (!existsSync(join(gitDir, 'HEAD'))) {
    const remedy = 'Name the data directory of a daemon with --data-dir, or restore a backup';
    return { problem: `${gitDir} is not a repository`, remedy };
  }
  const tip = await readRef(gitDir, ref);
  if (tip === undefined) return { problem: `${ref} has no commit`, remedy: 'Check --branch' };
  const limits = { deadlineMs: HISTORY_MS, signal: AbortSignal.timeout(HISTORY_MS) };
  const problem =
    (await packDamage(gitDir, await packFiles(gitDir))) ??
    (await historyDamage({ gitDir }, tip, limits));
  if (problem !== undefined) return { problem, remedy: damageRemedy(gitDir) };
  return { detail: `every object that ${ref} reaches can be read` };
}

const SHOWN_FOLDERS = 3;

/** Names wide folders, which cost every write of a file in them. */
async function checkFolders({ options, gitDir, ref }: Examined): Promise<Finding | undefined> {
  const tip = await readRef(gitDir, ref).catch(() => undefined);
  if (tip === undefined) return undefined;
  const reader = new Reader({ gitDir }, { maxPaths: options.maxPaths });
  try {
    const { wide } = await reader.folderWidths(tip);
    if (wide.length === 0) return undefined;
    const shown = wide.slice(0, SHOWN_FOLDERS).map(({ path, entries, bytes }) => {
      const size = Math.round(bytes / 1024);
      return `${path === '' ? 'the root' : `${path}/`} has ${entries} entries, ${size} KiB per write`;
    });
    return { detail: `${shown.join('; ')}; "gitplane repo fan-out" in a clone spreads them` };
  } finally {
    await reader.close();
  }
}

async function checkState({ root }: Examined): Promise<Finding | undefined> {
  const directory = join(root, 'state');
  if (!existsSync(join(directory, 'data.mdb'))) return undefined;
  // A daemon may write between the two reads of an attempt.
  for (let i = 0; i < STATE_TRIES; i++) if (await lmdbIsReadable(directory)) return {};
  const remedy = 'Stop the daemon and delete that directory: the next start rebuilds it from git';
  return { problem: `${directory} cannot be read`, remedy };
}

async function checkKeys(of: Examined): Promise<Finding | undefined> {
  const { options, root, gitDir, ref } = of;
  // The check of the repository reports it.
  if (!existsSync(join(gitDir, 'objects'))) return undefined;
  const own = join(root, 'age.key');
  const files = [...(existsSync(own) ? [own] : []), ...options.ageKeyFiles];
  const identities = (await Promise.all(files.map(identitiesIn))).flat();
  const here = await new Keyring(identities).recipients();
  const missing = await missingKeys({ gitDir, ref, here, maxPaths: options.maxPaths });
  if (missing !== undefined) {
    const names = missing.recipients.join(', ');
    const problem = `${missing.files} sealed files cannot be opened: the keys of ${names} are not here`;
    return { problem, remedy: `Put ${own} back, or give the old key as --age-key-file` };
  }
  for (const file of ['age.key', 'admin.token', 'state.key', 'tls/ca.key', 'tls/server.key']) {
    const path = join(root, file);
    const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
    if ((mode & 0o077) === 0) continue;
    return { problem: `${path} is open to other users`, remedy: `Run chmod 600 ${path}` };
  }
  return { detail: 'every sealed file can be opened' };
}

/** Encrypts for each PGP key that `.sops.yaml` names, as the next write of a secret does. */
async function checkPgpRecipients(of: Examined): Promise<Finding | undefined> {
  const named = await namedPgpKeys(of);
  const { pgpKeys: file } = of.options;
  if (named.length === 0 && file === undefined) return undefined;
  const home = await mkdtemp(join(tmpdir(), 'gitplane-pgp-'));
  try {
    const keys = file === undefined ? undefined : await openGpgKeyring(file, join(home, 'gnupg'));
    await wrapForPgp(randomBytes(DATA_KEY_BYTES), named, keys);
    return { detail: `every PGP key of ${SOPS_CONFIG} can be encrypted for` };
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    const remedy =
      'Writes of secrets that are encrypted for the key are refused until then; a daemon reads the file at its start';
    return { problem: error.message, remedy };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** PGP fingerprints in the `.sops.yaml` files of the branch. */
async function namedPgpKeys({ options, gitDir, ref }: Examined): Promise<string[]> {
  if ((await readRef(gitDir, ref).catch(() => undefined)) === undefined) return [];
  const paths = sealingConfigPaths(options.under);
  const listed = await runGit({ gitDir }, ['ls-tree', '-z', '--name-only', ref, '--', ...paths]);
  const named = new Set<string>();
  for (const path of listed.toString().split('\0').filter(Boolean)) {
    const text = await runGit({ gitDir }, ['cat-file', 'blob', `${ref}:${path}`]);
    for (const fingerprint of pgpIn(path, text.toString())) named.add(fingerprint);
  }
  return [...named];
}

function pgpIn(path: string, text: string): string[] {
  try {
    return parseSopsConfig(text).rules.flatMap(({ pgp }) => pgp);
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    throw new Error(`${path}:${error.message}`, { cause: error });
  }
}

async function checkCertificates({ options, root }: Examined): Promise<Finding | undefined> {
  const tls = join(root, 'tls');
  const own = ['ca.crt', 'server.crt'].map((name) => join(tls, name)).filter(existsSync);
  const files = options.tls === undefined ? own : [options.tls.certFile];
  if (files.length === 0) return undefined;
  const ends: string[] = [];
  for (const path of files) {
    const remedy = options.tls === undefined ? 'Restart the daemon' : 'Renew it, and restart';
    const end = endOf(certificateIn({ path, pem: await readFile(path, 'utf8'), remedy }));
    const date = new Date(end).toISOString().slice(0, 10);
    if (end < Date.now() + SOON_MS) return { problem: `${path} ends on ${date}`, remedy };
    ends.push(date);
  }
  return { detail: `valid until ${ends.sort()[0]}` };
}

async function checkClock({ gitDir, ref }: Examined): Promise<Finding | undefined> {
  if ((await readRef(gitDir, ref).catch(() => undefined)) === undefined) return undefined;
  const text = await runGit({ gitDir }, ['log', '-n', '1', '--format=%ct', ref, '--']);
  const ahead = Number(text.toString('latin1')) * 1000 - Date.now();
  if (ahead < AHEAD_MS) return {};
  const seconds = Math.round(ahead / 1000);
  const problem = `the newest commit is ${seconds} s in the future`;
  return { problem, remedy: 'Set the clock of this machine, or of the one that made the commit' };
}

async function checkDisk({ root }: Examined): Promise<Finding> {
  const { bavail, blocks, bsize } = await statfs(root);
  const detail = `${Math.floor((bavail * bsize) / 1024 / 1024)} MiB free`;
  const isFull = bavail * bsize < LEAST_FREE_BYTES || bavail / blocks < LEAST_FREE_SHARE;
  return isFull ? { problem: `${detail} at ${root}`, remedy: 'Free some space' } : { detail };
}

/** Checks the last runs in the job journal. */
async function checkJobs({ root }: Examined): Promise<Finding | undefined> {
  const path = join(root, 'jobs.json');
  if (!existsSync(path)) return undefined;
  const records = Object.entries(recordsIn(await readFile(path, 'utf8')));
  const [failed] = records.filter(([, { last }]) => last?.result === 'failed');
  const times = records.map(([name, record]) => `${name} runs next at ${record.next}`).join(', ');
  if (failed === undefined) return { detail: times };
  const [name, { last }] = failed;
  const problem = `the run of ${name} at ${last?.started} failed`;
  return { problem, remedy: 'The log of the daemon says why; it is tried again at its next time' };
}

async function checkEtcd({ options }: Examined): Promise<Finding | undefined> {
  if (options.replica === undefined) return undefined;
  const etcd = await openEtcd(etcdOptions(options.replica));
  const remedy = 'Check that a majority of its members runs, and --etcd-* options';
  try {
    await withinTime(etcd.range({ key: options.replica.prefix }));
    return { detail: etcd.place };
  } catch (error) {
    return { problem: `${etcd.place} does not answer: ${String(error)}`, remedy };
  } finally {
    await etcd.close();
  }
}

async function checkRemote({ options, gitDir, ref }: Examined): Promise<Finding | undefined> {
  if (options.remote === undefined) return undefined;
  const { address, access } = options.remote;
  const trackingRef = `refs/gitplane/remote/${options.branch}`;
  const remedy = 'Check --repo, the credentials and the network';
  try {
    const remote = new Remote({ address, access, gitDir, ref, trackingRef });
    const tip = await withinTime(remote.tip());
    if (tip === undefined) return { problem: `${address.url} has no ${ref}`, remedy };
    return { detail: `${address.url} answers` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `${address.url}: ${why}`, remedy };
  }
}

async function withinTime<T>(asked: Promise<T>): Promise<T> {
  const late = new Promise<never>((_resolve, reject) =>
    setTimeout(() => reject(new Error(`no answer in ${ANSWER_MS} ms`)), ANSWER_MS).unref(),
  );
  return await Promise.race([asked, late]);
}
