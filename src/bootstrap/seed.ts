/** The first commit of an empty hosted repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Catalog, type FileReader } from '../catalog/index.ts';
import { type FileChange, objectId, type Repository } from '../git/index.ts';
import { type KindTable, sealedKinds } from '../kinds/index.ts';
import { formatProblem, IGNORE_FILE, pathFilter, SOPS_CONFIG } from '../manifests/index.ts';
import { COMMITTER, type Sealer } from '../registry/index.ts';
import { formatSopsConfig, SealingError } from '../sealing/index.ts';
import { errnoOf, StartError } from './start-error.ts';

/**
 * Commits every file below `folder`, with the secrets in it sealed, and a `.sops.yaml` where there
 * is none. Throws StartError when a push of it would be refused.
 */
export async function seedRepository(of: {
  repository: Repository;
  reader: FileReader;
  sealer: Sealer;
  kinds: KindTable;
  /** Absent: the first commit holds only `.sops.yaml`. */
  folder: string | undefined;
  /** Target folder in the repository; '' is the root. */
  under: string;
  /** Seconds since the epoch. */
  time: number;
}): Promise<void> {
  const given = of.folder === undefined ? [] : readFolder(of.folder);
  if (of.folder !== undefined && given.length === 0) {
    throw new StartError(`Cannot seed from ${of.folder}: it holds no files`);
  }
  const files = await sealedFiles(of, await withSealingConfig(of, given));
  if (of.folder !== undefined) await refuseProblems(of.reader, of.folder, files);
  const changes = files.map(({ path, content }) => ({
    path: of.under === '' ? path : `${of.under}/${path}`,
    content,
  }));
  const batch = of.repository.begin(undefined);
  await batch.add({
    changes,
    author: COMMITTER,
    committer: COMMITTER,
    time: of.time,
    message: of.folder === undefined ? 'Say for whom secrets are sealed' : 'Seed the platform',
  });
  await batch.publish();
}

type SeedFile = FileChange & { readonly content: Buffer };

async function withSealingConfig(
  { kinds, sealer }: { kinds: KindTable; sealer: Sealer },
  files: readonly SeedFile[],
): Promise<SeedFile[]> {
  if (files.some(({ path }) => path === SOPS_CONFIG)) return [...files];
  const config = formatSopsConfig(sealedKinds(kinds), (await sealer.recipients()).slice(0, 1));
  return [...files, { path: SOPS_CONFIG, content: Buffer.from(config) }];
}

async function sealedFiles(
  {
    reader,
    sealer,
    folder = '',
  }: { reader: FileReader; sealer: Sealer; folder: string | undefined },
  files: readonly SeedFile[],
): Promise<SeedFile[]> {
  const config = files.find(({ path }) => path === SOPS_CONFIG)?.content ?? Buffer.alloc(0);
  const source = {
    sealing: { configs: { [SOPS_CONFIG]: SOPS_CONFIG } },
    repository: { readBlobs: async () => [config] },
  };
  const sealed: SeedFile[] = [];
  for (const file of files) {
    const { path, content } = file;
    await reader.prepare([content]);
    const isClear =
      /\.ya?ml$/.test(path) &&
      reader.read(path, '', content).documents.some(({ clear = [] }) => clear.length > 0);
    if (!isClear) {
      sealed.push(file);
      continue;
    }
    try {
      const text = await sealer.sealFile({ path, ...source }, content.toString('utf8'));
      sealed.push({ ...file, content: Buffer.from(text) });
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      throw new StartError(`Cannot seed from ${join(folder, path)}: ${error.message}`, {
        cause: error,
      });
    }
  }
  return sealed;
}

function readFolder(folder: string): SeedFile[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => ({
        path: file.slice(folder.length).split(sep).filter(Boolean).join('/'),
        content: readFileSync(file),
      }));
  } catch (error) {
    throw new StartError(`Cannot seed from ${folder}: ${errnoOf(error) ?? String(error)}`, {
      cause: error,
    });
  }
}

async function refuseProblems(
  reader: FileReader,
  folder: string,
  files: readonly SeedFile[],
): Promise<void> {
  const ignoreText = files.find(({ path }) => path === IGNORE_FILE)?.content.toString('utf8');
  const filter = pathFilter('', ignoreText);
  await reader.prepare(files.map(({ content }) => content));
  const entries = files
    .filter(({ path }) => filter.includes(path))
    .map(
      ({ path, content }) => [path, reader.read(path, objectId('blob', content), content)] as const,
    );
  const catalog = new Catalog('');
  catalog.advance({ commit: { id: '', committerTime: 0 }, files: new Map(entries) });
  const problems = catalog.problems().map(formatProblem);
  if (problems.length === 0) return;
  throw new StartError(`Cannot seed from ${folder}:\n  ${problems.join('\n  ')}`);
}
