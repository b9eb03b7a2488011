/** The first commit of an empty hosted repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Catalog } from '../catalog/catalog.ts';
import type { FileReader } from '../catalog/file.ts';
import { objectId } from '../git/object-id.ts';
import type { FileChange, Repository } from '../git/repository.ts';
import { IGNORE_FILE, pathFilter } from '../manifests/layout.ts';
import { formatProblem } from '../manifests/manifest.ts';
import { COMMITTER } from '../registry/commit-message.ts';
import { errnoOf, StartError } from './start-error.ts';

/** Commits every file below `folder`. Throws StartError when a push of it would be refused. */
export async function seedRepository(of: {
  repository: Repository;
  reader: FileReader;
  folder: string;
  /** Where in the repository the files go; '' is the root. */
  under: string;
  /** Seconds since the epoch. */
  time: number;
}): Promise<void> {
  const files = readFolder(of.folder);
  if (files.length === 0) throw new StartError(`Cannot seed from ${of.folder}: it holds no files`);
  refuseProblems(of.reader, of.folder, files);
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
    message: 'Seed the platform',
  });
  await batch.publish();
}

function readFolder(folder: string): (FileChange & { content: Buffer })[] {
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

function refuseProblems(
  reader: FileReader,
  folder: string,
  files: readonly { path: string; content: Buffer }[],
): void {
  const ignoreText = files.find(({ path }) => path === IGNORE_FILE)?.content.toString('utf8');
  const filter = pathFilter('', ignoreText);
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
