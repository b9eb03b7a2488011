/** The command line and the environment, read as a table of options says: a flag wins over its
 * variable. The only reader of the process environment. */
import { parseArgs } from 'node:util';
import { type OptionSpec, variableOf } from './option-spec.ts';

/** Wrong words on the command line: one sentence for the user, exit status 2. */
export class UsageError extends Error {}

export interface ParsedOptions {
  /** Undefined when neither the flag, nor its variable, nor a default says anything. */
  text(name: string): string | undefined;
  /** For options that have a default. */
  required(name: string): string;
  /** For options that take no value. */
  isOn(name: string): boolean;
  all(name: string): readonly string[];
  readonly operands: readonly string[];
  /** Variables of the process, for what names them. */
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
