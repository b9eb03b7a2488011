/** The configuration in a file beside git (`--config`), read again whenever it changes. */
import { readFileSync, statSync } from 'node:fs';
import type { JsonObject } from '../apimachinery/object.ts';
import { parseConfigRaw } from '../kinds/config-raw.ts';

export interface ConfigText {
  readonly status: JsonObject;
  readonly warnings: readonly string[];
  /** As it stands in the file. */
  readonly raw: string;
}

/** Problems with their places in the file, one a line; holds no secret. */
export class ConfigFileError extends Error {}

export function readConfigFile(file: string): ConfigText {
  let raw: string;
  try {
    raw = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new ConfigFileError(`${file}: ${code}`, { cause: error });
  }
  const { status, problems, warnings } = parseConfigRaw(raw);
  if (problems.length === 0) return { status: structuredClone(status), warnings, raw };
  const lines = problems.map(({ at, message }) =>
    at === undefined ? `${file}: ${message}` : `${file}:${at.line}:${at.col}: ${message}`,
  );
  throw new ConfigFileError(lines.join('\n'));
}

const LOOK_EVERY_MS = 2000;

/**
 * Calls back when the file may say something else. It is looked at: a volume replaces the folder
 * behind a link, which no watch on the file sees. Returns what ends that.
 */
export function watchConfigFile(
  file: string,
  changed: () => void,
  everyMs = LOOK_EVERY_MS,
): () => void {
  // The file may have changed since it was first read, so that the first look counts as a change.
  let told: string | undefined;
  let last = '';
  const timer = setInterval(() => {
    const now = looksOf(file);
    const isWritten = now === last;
    last = now;
    // Half a file may be a valid configuration: one that lacks its limits.
    if (!isWritten || now === told) return;
    told = now;
    changed();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

function looksOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [ino, size, mtimeMs, ctimeMs].join();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
