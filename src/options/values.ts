/** Checked values of options, with the same errors in every command. All functions throw UsageError. */
import { resolve } from 'node:path';
import { type ParsedOptions, UsageError } from './parse-options.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `[::1]:port` or `:port`. */
export function parseAddress(name: string, text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(`Cannot use --${name} "${text}": write HOST:PORT, as in 127.0.0.1:8443`);
  }
  return { host: match[1] ?? (match[2] === '' ? '0.0.0.0' : (match[2] ?? '')), port };
}

/** One of the given words. */
export function readChoice<const T extends string>(
  options: ParsedOptions,
  name: string,
  choices: readonly T[],
): T {
  const given = options.required(name);
  const choice = choices.find((candidate) => candidate === given);
  if (choice !== undefined) return choice;
  const [last = '', ...others] = [...choices].reverse();
  const words = `${others.reverse().join(', ')} or ${last}`;
  throw new UsageError(`Cannot use --${name} "${given}": use ${words}`);
}

/** A whole number. */
export function readNumber(
  options: ParsedOptions,
  name: string,
  { least = 0, most = 1e9 }: { least?: number; most?: number } = {},
): number {
  const text = options.required(name);
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(
    `Cannot use --${name} ${JSON.stringify(text)}: write a number from ${least} to ${most}`,
  );
}

/** Absolute path of the file that an option names; undefined: the option is not set. */
export function readPath(options: ParsedOptions, name: string): string | undefined {
  const path = options.text(name);
  return path === undefined ? undefined : resolve(path);
}
