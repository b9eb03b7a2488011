/** The configuration in a file beside git (`--config`), read again whenever it changes. */
import { readFileSync } from 'node:fs';
import type { JsonObject } from '../apimachinery/index.ts';
import { parseConfigRaw } from '../kinds/index.ts';

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
