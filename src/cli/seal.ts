/** `gitplane seal`, `unseal`, `edit`, `rotate` and `recipients`: secrets of files in a work tree. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Counter, Progress, showProgress } from '../concurrency/index.ts';
import { isGone, thisOwner } from '../files/index.ts';
import { sealedKinds } from '../kinds/index.ts';
import { formatProblem, type Problem } from '../manifests/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import type { OpenFile } from '../registry/index.ts';
import {
  changeRecipients,
  creationRuleFor,
  documentsOf,
  formatSopsConfig,
  mayBeSealed,
  metadataOf,
  parseSopsConfig,
  Reuse,
  SealingError,
  type SopsConfig,
  sealedComments,
  sealText,
  unsealText,
  wrapDataKey,
  wrapForPgp,
} from '../sealing/index.ts';
import { type Output, print, Report, wantsJson } from './print.ts';
import { SealedTree, type TreeFile } from './sealed-tree.ts';

/** A file that a command wrote. */
interface Written {
  readonly path: string;
  readonly action: 'created' | 'sealed' | 'unsealed' | 'unchanged';
}

/** Seals what is in the clear; with `--check` only tells it. Resolves to the exit status. */
export async function seal(options: ParsedOptions, out: Output): Promise<number> {
  const tree = await SealedTree.open(options, options.operands);
  const files = new Report<Written>(options, out);
  if (options.isOn('init')) await makeConfig(tree, options, files);
  await tree.config();
  const onlyChecks = options.isOn('check');
  const found = new Report<Problem>(options, out);
  let clear = 0;
  for await (const file of tree.files()) {
    const problems = await clearIn(tree, file);
    if (problems.length === 0) continue;
    clear += problems.length;
    if (onlyChecks) for (const problem of problems) found.add(problem, formatProblem(problem));
    else await sealFile(tree, file, files);
  }
  if (clear === 0 && !wantsJson(options)) out.write('Nothing is in the clear\n');
  files.end((items) => ({ files: items, ...(onlyChecks ? { problems: found.items } : {}) }));
  return onlyChecks && clear > 0 ? 1 : 0;
}

async function makeConfig(
  tree: SealedTree,
  options: ParsedOptions,
  files: Report<Written>,
): Promise<void> {
  if (existsSync(tree.configFile)) return;
  const given = options.all('recipient');
  const recipients = given.length > 0 ? given : await tree.keyring.recipients();
  if (recipients.length === 0) {
    throw new UsageError('Say for whom to seal: --recipient age1… (the daemon logs its own)');
  }
  await wrapDataKey(Buffer.alloc(32), recipients);
  await tree.write(
    basename(tree.configFile),
    formatSopsConfig(sealedKinds(tree.kinds), recipients),
  );
  const path = tree.shown(basename(tree.configFile));
  files.add({ path, action: 'created' }, `made ${path}`);
}

/** Secrets in the clear, and comments beside them, those in files that are sealed otherwise included. */
async function clearIn(tree: SealedTree, { path, text }: TreeFile): Promise<Problem[]> {
  const content = Buffer.from(text);
  await tree.reader.prepare([content]);
  const { documents } = tree.reader.read(path, '', content);
  return documents.flatMap(({ clear = [], problems, warnings }) => [
    ...clear,
    ...[...problems, ...warnings].filter(({ inClear }) => inClear),
  ]);
}

async function sealFile(
  tree: SealedTree,
  { path, text }: TreeFile,
  files: Report<Written>,
): Promise<void> {
  const sealed = await inPlace(tree, path, async () => {
    const open = await tree.sealer.reopen(text);
    return open === undefined
      ? await tree.sealer.sealFile(await tree.place(path), text)
      : tree.sealer.rest(text, open);
  });
  await tree.write(path, sealed);
  reportSealed(tree, path, files);
}

/** Prints one file in the clear; with `--in-place` writes files that way. */
export async function unseal(options: ParsedOptions, out: Output): Promise<number> {
  const inFiles = options.isOn('in-place');
  const { operands } = options;
  if (operands.length === 0 || (!inFiles && operands.length > 1)) {
    throw new UsageError('Write: gitplane unseal PATH, or gitplane unseal --in-place PATH…');
  }
  const tree = await SealedTree.open(options, operands);
  const files = new Report<Written & { text?: string }>(options, out);
  for await (const { file, open } of sealedFiles(tree)) {
    const clear = await inPlace(tree, file.path, () => unsealText(file.text, open.key.dataKey));
    const written = { path: tree.shown(file.path), action: 'unsealed' as const };
    if (!inFiles) {
      if (wantsJson(options)) files.add({ ...written, text: clear }, '');
      else out.write(clear);
      continue;
    }
    await tree.write(file.path, clear);
    files.add(written, `unsealed ${written.path}: never commit it like this`);
  }
  files.end((items) => ({ files: items }));
  return 0;
}

/** Opens one file in an editor and seals what comes of it; what stays keeps its bytes. */
export async function edit(options: ParsedOptions, out: Output): Promise<number> {
  const [operand, more] = options.operands;
  if (operand === undefined || more !== undefined)
    throw new UsageError('Write: gitplane edit PATH');
  const tree = await SealedTree.open(options, [operand]);
  const files = new Report<Written>(options, out);
  for await (const { file, open } of sealedFiles(tree)) {
    const { path, text } = file;
    const { dataKey } = open.key;
    const clear = await inPlace(tree, path, () => unsealText(text, dataKey));
    const edited = await inEditor(options.required('editor'), basename(path), clear);
    if (edited === clear) {
      const shown = tree.shown(path);
      files.add({ path: shown, action: 'unchanged' }, `${shown} is as it was`);
      continue;
    }
    const { metadata: previous } = open.file;
    const rule = previous?.rule ?? { name: 'encrypted_regex', text: '' };
    const reuse = new Reuse([...open.file.sealed, ...sealedComments(text, rule, dataKey)]);
    const again = { key: open.key, rule, reuse, previous, now: Date.now() };
    await tree.write(path, await inPlace(tree, path, () => sealText(edited, again)));
    reportSealed(tree, path, files);
  }
  files.end((items) => ({ files: items }));
  return 0;
}

/** In memory where the system has files there: what is in the clear must not reach a disk. */
async function inEditor(editor: string, name: string, text: string): Promise<string> {
  const folder = await editorFolder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
  try {
    const file = join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    const { status } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], {
      stdio: 'inherit',
    });
    if (status !== 0) throw new UsageError(`${editor} ended with ${status}; nothing was changed`);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A new folder; those that a killed `edit` left go. Folders of other users stay: they cannot be removed. */
async function editorFolder(parent: string): Promise<string> {
  for (const name of await readdir(parent)) {
    const [, owner] = /^gitplane-edit-([0-9a-f]{12}-\d+-\d+)-\w{6}$/.exec(name) ?? [];
    if (owner === undefined || isGone(owner) !== true) continue;
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
  return await mkdtemp(join(parent, `gitplane-edit-${thisOwner}-`));
}

/** New data keys, for the recipients that `.sops.yaml` names. */
export async function rotate(options: ParsedOptions, out: Output): Promise<number> {
  const tree = await SealedTree.open(options, options.operands);
  const { config } = await tree.config();
  const files = new Report<Written>(options, out);
  const changed = await rekey(tree, config, { anew: true }, files);
  const status = commit(tree, { options, changed, message: 'Rotate the keys of sealed files' });
  files.end((items) => ({ files: items }));
  return status;
}

/** `recipients list`, `add`, `remove`. Files are re-encrypted; a removed recipient keeps what it read before. */
export async function recipients(options: ParsedOptions, out: Output): Promise<number> {
  const [action = 'list', recipient, ...more] = options.operands;
  const tree = await SealedTree.open(options, []);
  const { text, config } = await tree.config();
  if (action === 'list') {
    await listRecipients(tree, config, { options, out });
    return 0;
  }
  const removes = action === 'remove';
  if ((action !== 'add' && !removes) || recipient === undefined || more.length > 0) {
    throw new UsageError('Write: gitplane recipients list, add age1… or remove age1…');
  }
  if (!removes) await wrapDataKey(Buffer.alloc(32), [recipient]);
  const others = (list: readonly string[]): string[] => list.filter((name) => name !== recipient);
  const after = changeRecipients(text, (list) =>
    removes ? others(list) : [...others(list), recipient],
  );
  const next = parseSopsConfig(after);
  if (next.rules.some((rule) => rule.recipients.length === 0)) {
    throw new UsageError(`Nobody could read the files without ${recipient}`);
  }
  const files = new Report<Written>(options, out);
  const changed = await rekey(tree, next, { anew: removes }, files);
  await tree.write(basename(tree.configFile), after);
  const message = removes ? 'Remove a recipient of secrets' : 'Add a recipient of secrets';
  const all = [...changed, basename(tree.configFile)];
  const status = commit(tree, { options, changed: all, message });
  files.end((items) => ({ files: items }));
  return status;
}

async function listRecipients(
  tree: SealedTree,
  { rules }: SopsConfig,
  { options, out }: { options: ParsedOptions; out: Output },
): Promise<void> {
  const age = [...new Set(rules.flatMap((rule) => rule.recipients))];
  const pgp = [...new Set(rules.flatMap((rule) => rule.pgp))].map((fingerprint) => ({
    fingerprint,
    hasPublicKey: tree.pgpKeys?.has(fingerprint) === true,
  }));
  const files = await pgpFiles(tree);
  const lines = [
    ...age,
    ...pgp.map(
      ({ fingerprint, hasPublicKey }) =>
        `pgp ${fingerprint}${hasPublicKey ? '' : ' (public key missing)'}`,
    ),
    ...files.map(({ path, keys, isPgpAlone }) => {
      const readers = isPgpAlone ? 'readable by PGP keys alone' : 'also readable by PGP keys';
      return `${path}: ${readers}: ${keys.join(', ')}`;
    }),
  ];
  const text = lines.map((line) => `${line}\n`).join('');
  print(options, out, { text, json: { age, pgp, files } });
}

interface PgpFile {
  readonly path: string;
  readonly keys: readonly string[];
  /** Without an age recipient. */
  readonly isPgpAlone: boolean;
}

/** Files that holders of PGP keys read as well, or alone. */
async function pgpFiles(tree: SealedTree): Promise<PgpFile[]> {
  const found: PgpFile[] = [];
  for await (const { path, text } of tree.files()) {
    if (!mayBeSealed(text)) continue;
    const metadata = await inPlace(tree, path, () => metadataOf(documentsOf(text)));
    if (metadata?.pgp === undefined) continue;
    const keys = metadata.pgp.map(({ fp }) => fp);
    found.push({ path: tree.shown(path), keys, isPgpAlone: metadata.age.length === 0 });
  }
  return found;
}

/** Seals every sealed file for whom the config says. All are worked out before one is written. */
async function rekey(
  tree: SealedTree,
  config: SopsConfig,
  { anew }: { anew: boolean },
  files: Report<Written>,
): Promise<string[]> {
  const texts = new Map<string, string>();
  const counter = new Counter();
  const progress = new Progress();
  progress.begin('encrypting', { unit: 'files', counter });
  await showProgress(progress, process.stderr, async () => {
    for await (const { file, open } of sealedFiles(tree)) {
      texts.set(file.path, await rekeyed(tree, { file, open }, { config, anew }));
      counter.advance();
    }
  });
  for (const [path, text] of texts) {
    await tree.write(path, text);
    reportSealed(tree, path, files);
  }
  return [...texts.keys()];
}

function reportSealed(tree: SealedTree, path: string, files: Report<Written>): void {
  const shown = tree.shown(path);
  files.add({ path: shown, action: 'sealed' }, `sealed ${shown}`);
}

async function rekeyed(
  tree: SealedTree,
  { file, open }: { readonly file: TreeFile; readonly open: OpenFile },
  { config, anew }: { readonly config: SopsConfig; readonly anew: boolean },
): Promise<string> {
  const { path, text } = file;
  const { metadata } = open.file;
  const { recipients: names = [], pgp: named = [] } = creationRuleFor(config, path) ?? {};
  const had = metadata?.pgp ?? [];
  const age = names.length > 0 ? names : (metadata?.age ?? []).map(({ recipient }) => recipient);
  const pgp = names.length > 0 ? named : had.map(({ fp }) => fp);
  const { keyring } = tree;
  const rule = metadata?.rule ?? { name: 'encrypted_regex' as const, text: '' };
  return await inPlace(tree, path, async () => {
    const { dataKey } = open.key;
    const missing = pgp.filter((name) => !had.some(({ fp }) => fp === name));
    const key = anew
      ? await tree.sealer.make({ path }, { age, pgp })
      : {
          ...(await keyring.wrap(dataKey, age)),
          pgp: [...had, ...(await wrapForPgp(dataKey, missing, tree.pgpKeys))],
        };
    const source = anew ? unsealText(text, open.key.dataKey) : text;
    return sealText(source, { key, rule, now: Date.now() });
  });
}

function commit(
  tree: SealedTree,
  of: { options: ParsedOptions; changed: readonly string[]; message: string },
): number {
  const { options, changed, message } = of;
  if (!options.isOn('commit') || changed.length === 0) return 0;
  for (const args of [
    ['add', '--', ...changed],
    ['commit', '--quiet', '-m', message, '--', ...changed],
  ]) {
    const { status } = spawnSync('git', args, { cwd: tree.root, stdio: 'inherit' });
    if (status !== 0)
      throw new UsageError(`git ${args[0]} ended with ${status}; the files are sealed`);
  }
  return 0;
}

async function* sealedFiles(tree: SealedTree): AsyncIterable<{ file: TreeFile; open: OpenFile }> {
  for await (const file of tree.files()) {
    const open = await inPlace(tree, file.path, () => tree.sealer.open(file.text));
    if (open !== undefined) yield { file, open };
  }
}

/** Names the file that something is wrong with. */
async function inPlace<T>(tree: SealedTree, path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    throw new SealingError(`${tree.shown(path)}: ${error.message}`, { cause: error });
  }
}
