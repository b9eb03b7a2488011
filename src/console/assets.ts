/** The built files of the console, as the server sends them. `scripts/bundle-console.mjs` writes them. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type Encoding = 'br' | 'gzip' | 'identity';

export interface Asset {
  readonly contentType: string;
  /** Bytes for each encoding that the build wrote. */
  body(encoding: Encoding): Buffer;
}

export interface ConsoleAssets {
  /** Names of the files that the page loads; undefined: the console was not built. */
  readonly entry: ConsoleEntry | undefined;
  /** Undefined: no file has the name. */
  find(name: string): Asset | undefined;
}

interface ConsoleEntry {
  readonly script: string;
  readonly style: string;
}

interface Manifest {
  readonly entry: ConsoleEntry;
  readonly files: readonly string[];
}

/** Beside this module in `dist/`; from the sources, the build in `dist/`. */
const FOLDERS = ['./assets/', '../../dist/console/assets/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz', identity: '' };

/** Reads the list of files once, and each file at its first request. */
export function readConsoleAssets(): ConsoleAssets {
  const folder = FOLDERS.find((path) => existsSync(`${path}manifest.json`));
  if (folder === undefined) return { entry: undefined, find: () => undefined };
  const manifest: Manifest = JSON.parse(readFileSync(`${folder}manifest.json`, 'utf8'));
  const names = new Set(manifest.files);
  const bytes = new Map<string, Buffer>();
  const read = (file: string): Buffer => {
    const found = bytes.get(file) ?? readFileSync(`${folder}${file}`);
    bytes.set(file, found);
    return found;
  };
  return {
    entry: manifest.entry,
    find: (name) => {
      const contentType = TYPES[name.split('.').at(-1) ?? ''];
      if (!names.has(name) || contentType === undefined) return undefined;
      return { contentType, body: (encoding) => read(`${name}${ENDINGS[encoding]}`) };
    },
  };
}
