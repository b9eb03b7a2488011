/** Parses options by their table with commander. A flag takes precedence over its variable, and a
 * variable over the default. No other file reads the environment of the process. */
import { Command, CommanderError, Option } from 'commander';
import { describeOption, inWords, type OptionSpec, variableOf } from './option-spec.ts';

/** Wrong use of the command line: one sentence for the user, exit status 2. */
export class UsageError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

export const ENVIRONMENT: Environment = process.env;

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
  readonly environment: Environment;
}

/** Options and operands without a command. */
export function parseOptions(
  specs: readonly OptionSpec[],
  args: readonly string[],
  environment: Environment = ENVIRONMENT,
): ParsedOptions {
  const parser = silentCommand().helpOption(false).argument('[operands...]');
  addOptions(parser, specs);
  try {
    parser.parse([...args], { from: 'user' });
  } catch (error) {
    throw asUsageError(error);
  }
  return optionsIn(parser, specs, { operands: parser.args, environment });
}

/** Throws in place of ending the process, and prints nothing. */
export function silentCommand(name?: string): Command {
  const ignore = (): void => undefined;
  return new Command(name)
    .exitOverride()
    .configureOutput({ writeErr: ignore, outputError: ignore });
}

export function addOptions(command: Command, specs: readonly OptionSpec[]): void {
  const known = new Set(specs.map(({ name }) => `--${name}`));
  const collecting = (option: Option): Option =>
    option.required
      ? option.argParser((value: string, former: readonly string[] = []) => {
          // A forgotten value: commander takes the next flag for it.
          if (!known.has(value)) return [...former, value];
          throw new UsageError(`${option.long} needs a value, and ${value} follows it`);
        })
      : option;
  for (const spec of specs) {
    const flag = `--${spec.name}${spec.value === undefined ? '' : ` <${spec.value}>`}`;
    const flags = spec.short === undefined ? flag : `-${spec.short}, ${flag}`;
    const option = new Option(flags, describeOption(spec));
    if (spec.group !== undefined) option.helpGroup(`${spec.group}:`);
    command.addOption(collecting(option));
    if (spec.alias === undefined) continue;
    command.addOption(collecting(new Option(`--${spec.alias} <${spec.value}>`)).hideHelp());
  }
}

/** The values of a parsed command. Throws UsageError for those that its table excludes. */
export function optionsIn(
  command: Command,
  specs: readonly OptionSpec[],
  { operands, environment }: { operands: readonly string[]; environment: Environment },
): ParsedOptions {
  const given = command.opts<Readonly<Record<string, true | string[] | undefined>>>();
  const flags = (name: string): readonly string[] | undefined => {
    const value = given[new Option(`--${name}`).attributeName()];
    return value === true ? ['true'] : value;
  };
  const named = (name: string): readonly string[] => {
    const alias = specs.find((spec) => spec.name === name)?.alias;
    return alias === undefined ? [name] : [name, alias];
  };
  const text = (name: string): string | undefined => {
    const spec = specs.find((candidate) => candidate.name === name);
    const shared = spec?.variable === undefined ? undefined : environment[spec.variable];
    const flag = named(name).flatMap((one) => flags(one) ?? []);
    const variable = named(name).flatMap((one) => environment[variableOf(one)] ?? []);
    return flag.at(-1) ?? variable[0] ?? shared ?? spec?.default;
  };
  const options: ParsedOptions = {
    text,
    required: (name) => {
      const value = text(name);
      if (value === undefined || value === '') throw new UsageError(`--${name} needs a value`);
      return value;
    },
    isOn: (name) => text(name) === 'true',
    all: (name) => flags(name) ?? environment[variableOf(name)]?.split(',') ?? [],
    operands,
    environment,
  };
  for (const spec of specs) checkValue(spec, options);
  return options;
}

function checkValue({ name, value, choices }: OptionSpec, options: ParsedOptions): void {
  const text = options.text(name);
  if (text === undefined) return;
  if (value === undefined && !['true', 'false', ''].includes(text)) {
    throw new UsageError(`Cannot use ${variableOf(name)}=${text}: write true or false`);
  }
  if (choices !== undefined && text !== '' && !choices.includes(text)) {
    throw new UsageError(`Cannot use --${name} "${text}": use ${inWords(choices)}`);
  }
}

/** One sentence in place of the two lines of commander. Other errors stay. */
export function asUsageError(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  const [first = '', hint] = error.message.replace(/^error: /, '').split('\n');
  const meant = /\(Did you mean (?:one of )?(.*)\?\)/.exec(hint ?? '')?.[1];
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}`
    .replaceAll("'", '"')
    .replace(/\.$/, '');
  const suggestion = meant === undefined ? '' : `: did you mean ${meant}?`;
  return new UsageError(`${sentence}${suggestion}`, { cause: error });
}
