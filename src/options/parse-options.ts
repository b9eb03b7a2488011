/** Parses the command line and the environment by a table of options. A flag takes precedence over its
 * variable. No other file reads the environment of the process. */
import { parseArgs } from 'node:util';
import { type OptionSpec, variableOf } from './option-spec.ts';

/** Wrong use of the command line: one sentence for the user, exit status 2. */
export class UsageError extends Error {}

export interface ParsedOptions {
  /** Undefined without a flag, a variable and a default. */
  text(name: string): string | undefined;
  /** For options that have a default. */
  required(name: string): string;
  /** For options that take no value. */
  isOn(name: string): boolean;
  all(name: string): readonly string[];
  readonly operands: readonly string[];
  /** Environment of the process, for code that refers to variables by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function parseOptions(
  specs: readonly OptionSpec[],
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ParsedOptions {
  const parsed = parse(specs, args);
  const text = (name: string): string | undefined => {
    const spec = specs.find((candidate) => candidate.name === name);
    const flag = parsed.values[name]?.at(-1);
    const shared = spec?.variable === undefined ? undefined : environment[spec.variable];
    return flag ?? environment[variableOf(name)] ?? shared ?? spec?.default;
  };
  return {
    text,
    required: (name) => {
      const value = text(name);
      if (value === undefined || value === '') throw new UsageError(`--${name} needs a value`);
      return value;
    },
    isOn: (name) => text(name) === 'true',
    all: (name) => parsed.values[name] ?? environment[variableOf(name)]?.split(',') ?? [],
    operands: parsed.operands,
    environment,
  };
}

function parse(
  specs: readonly OptionSpec[],
  args: readonly string[],
): { values: Record<string, string[] | undefined>; operands: string[] } {
  const options = Object.fromEntries(
    specs.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
    const texts = Object.entries(values).map(([name, given]) => [
      name,
      (Array.isArray(given) ? given : [given]).map(String),
    ]);
    return { values: Object.fromEntries(texts), operands: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
