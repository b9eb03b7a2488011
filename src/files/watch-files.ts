/** The one watcher of files that people and volumes replace while the daemon runs. */
import { existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';

export interface WatchTimes {
  /** Milliseconds for which the files have to stay the same: half a file may be a valid one. */
  readonly stableMs?: number;
  /** Milliseconds between two looks without an event: a network file system sends none. */
  readonly lookMs?: number;
}

const STABLE_MS = 500;
const LOOK_MS = 30_000;
/** As the kernel follows them (path_resolution(7)). */
const MOST_LINKS = 40;

/**
 * Calls back when the files may say something else, once for changes that come together, and once
 * soon after the start: a file may have changed since it was read. Follows every link of a path:
 * Kubernetes replaces the folder behind a link, which no watch on the file itself sees. Returns the
 * function that ends it.
 */
export function watchFiles(
  files: readonly string[],
  changed: () => void,
  times: WatchTimes = {},
): () => void {
  const { stableMs = STABLE_MS, lookMs = LOOK_MS } = times;
  let watched = new Set<string>();
  let watcher: FSWatcher | undefined;
  let settling: NodeJS.Timeout | undefined;
  let told: string | undefined;
  let seen = '';

  const follow = (): void => {
    const steps = files.flatMap(stepsOf);
    const folders = steps.map(nearestFolder);
    const wanted = new Set(steps.flatMap((step, index) => between(folders[index] ?? step, step)));
    if (watcher !== undefined && wanted.size === watched.size && [...wanted].every(isWatched)) {
      return;
    }
    watched = wanted;
    void watcher?.close();
    watcher = watch([...new Set(folders)], {
      depth: 0,
      followSymlinks: false,
      ignoreInitial: true,
      persistent: false,
      ignored: (path) => !isWatched(path),
    });
    // The system may have no watches left: the looks in between go on.
    watcher.on('error', () => undefined).on('all', look);
    // A change before the new watch begins has no event.
    watcher.on('ready', look);
  };
  const isWatched = (path: string): boolean => watched.has(path);
  const look = (): void => {
    clearTimeout(settling);
    const now = files.map(fingerprint).join();
    if (now === seen) {
      follow();
      if (now === told) return;
      told = now;
      changed();
      return;
    }
    seen = now;
    settling = setTimeout(look, stableMs).unref();
  };
  follow();
  look();
  const looking = setInterval(look, lookMs).unref();
  return () => {
    clearInterval(looking);
    clearTimeout(settling);
    void watcher?.close();
  };
}

/** Text that differs when the file was replaced or written; of a missing one the reason. */
export function fingerprint(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [ino, size, mtimeMs, ctimeMs].join();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/** Each link on the way to a file, and the file: the paths of which a change may change what is read. */
function stepsOf(file: string): string[] {
  const steps: string[] = [];
  let path = resolve(file);
  while (steps.length < MOST_LINKS) {
    const link = firstLink(path);
    if (link === undefined) break;
    steps.push(link.at);
    path = resolve(dirname(link.at), link.target, link.rest);
  }
  return [...steps, path];
}

function firstLink(path: string): { at: string; target: string; rest: string } | undefined {
  const { root } = parse(path);
  const names = path.slice(root.length).split(sep);
  let at = root;
  for (const [index, name] of names.entries()) {
    at = join(at, name);
    try {
      if (!lstatSync(at).isSymbolicLink()) continue;
      return { at, target: readlinkSync(at), rest: join('.', ...names.slice(index + 1)) };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** The folder, the path, and the folders between them that are not there yet. */
function between(folder: string, path: string): string[] {
  const paths = [path];
  for (let at = dirname(path); at.length > folder.length; at = dirname(at)) paths.push(at);
  return [...paths, folder];
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
