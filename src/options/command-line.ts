/** Command line of the program: finds the command, and renders help, from the table of commands. */
import { type Command, CommanderError, Option } from 'commander';
import { type ActionSpec, type CommandSpec, type CommandTable, optionsOf } from './command-spec.ts';
import { checkEnvironment } from './environment.ts';
import { inWords, variableOf } from './option-spec.ts';
import {
  addOptions,
  asUsageError,
  ENVIRONMENT,
  type Environment,
  optionsIn,
  type ParsedOptions,
  silentCommand,
  UsageError,
} from './parse-options.ts';

const PROGRAM = 'gitplane';

/** A command to run, or text to print in place of it. */
type Invocation<Name extends string> =
  | { readonly name: Name; readonly options: ParsedOptions }
  | { readonly text: string };

interface Source {
  readonly version: string;
  readonly environment?: Environment;
}

const NOTE = 'Every option is also an environment variable: --data-dir is GITPLANE_DATA_DIR.';

/** Throws UsageError. */
export function parseCommandLine<Name extends string>(
  table: Readonly<Record<Name, CommandSpec>>,
  args: readonly string[],
  { version, environment = ENVIRONMENT }: Source,
): Invocation<Name> {
  let text = '';
  let invocation: Invocation<Name> | undefined;
  const line = new CommandLine<Name>(table, {
    version,
    print: (part) => {
      text += part;
    },
    run: (name, command, { spec, action, operands }) => {
      checkEnvironment(table, environment);
      const options = optionsIn(command, optionsOf(spec, action), { operands, environment });
      invocation = { name, options };
    },
  });
  try {
    line.program(args).parse([...asHelpFlag(table, args)], { from: 'user' });
  } catch (error) {
    const shown = ['commander.helpDisplayed', 'commander.version'];
    if (error instanceof CommanderError && shown.includes(error.code)) return { text };
    throw line.explain(error, args);
  }
  return invocation ?? { text };
}

/** `help X` is `X --help`, and nothing is `--help`. */
function asHelpFlag(table: CommandTable, args: readonly string[]): readonly string[] {
  const [first, ...topic] = args;
  if (first === undefined) return ['--help'];
  if (first !== 'help') return args;
  const words = topic.filter((word) => !word.startsWith('-'));
  const [name = ''] = words;
  // Without it commander shows the overview for a name that does not exist.
  if (words.length > 0 && table[name] === undefined) return words;
  return [...words, '--help'];
}

interface Chosen {
  readonly spec: CommandSpec;
  readonly action: string | undefined;
  /** With the action. */
  readonly operands: readonly string[];
}

interface Output<Name extends string> {
  readonly version: string;
  print(text: string): void;
  run(name: Name, command: Command, chosen: Chosen): void;
}

class CommandLine<Name extends string> {
  readonly #table: Readonly<Record<Name, CommandSpec>>;
  readonly #output: Output<Name>;

  constructor(table: Readonly<Record<Name, CommandSpec>>, output: Output<Name>) {
    this.#table = table;
    this.#output = output;
  }

  program(args: readonly string[]): Command {
    const program = this.#prepared(silentCommand(PROGRAM)).usage('COMMAND [OPTIONS]');
    const help = silentCommand('help').argument('[COMMAND]').helpGroup('Other:');
    program.addHelpCommand(help.description('print the help of a command'));
    for (const name of Object.keys(this.#table) as Name[]) {
      const spec = this.#table[name];
      // Options of other commands are not parsed: the start stays short.
      const command = this.#command(name, spec, args.includes(name));
      program.addCommand(command.helpGroup(`${spec.group}:`));
    }
    return program.addHelpText(
      'after',
      `\nRun "${PROGRAM} help COMMAND" for its options and examples. ${NOTE}`,
    );
  }

  #command(name: Name, spec: CommandSpec, isNamed: boolean): Command {
    const command = this.#prepared(silentCommand(name))
      .description(sentence(spec.summary))
      .summary(spec.summary);
    if (!isNamed) return command;
    command.addHelpText('after', examplesOf(spec));
    const { actions } = spec;
    if (actions === undefined) return this.#leaf(command, name, { spec, action: undefined });
    command.usage('ACTION [OPTIONS]').helpCommand(false);
    for (const [action, { summary }] of Object.entries(actions)) {
      const leaf = this.#prepared(silentCommand(action))
        .description(sentence(summary))
        .summary(summary);
      leaf.addHelpText('after', examplesOf(spec, action));
      command.addCommand(this.#leaf(leaf, name, { spec, action }), {
        isDefault: action === spec.defaultAction,
      });
    }
    return command;
  }

  #leaf(
    leaf: Command,
    name: Name,
    { spec, action }: { spec: CommandSpec; action: string | undefined },
  ): Command {
    const { operands = '' } = shapeOf(spec, action);
    leaf.usage([operands, '[OPTIONS]'].filter(Boolean).join(' ')).allowExcessArguments(false);
    for (const operand of argumentsIn(operands)) leaf.argument(operand);
    addOptions(leaf, optionsOf(spec, action));
    return leaf.action(() => {
      const given = action === undefined ? leaf.args : [action, ...leaf.args];
      this.#output.run(name, leaf, { spec, action, operands: given });
    });
  }

  /** With the options that every command has. */
  #prepared(command: Command): Command {
    const { version, print } = this.#output;
    return command
      .configureOutput({ writeOut: print })
      .configureHelp({ helpWidth: 100, subcommandTerm })
      .version(`${PROGRAM} ${version}`, '-v, --version', 'print the version')
      .addHelpOption(new Option('-h, --help', 'print this help'));
  }

  /** Errors of commander as sentences with the usage of the command. */
  explain(error: unknown, args: readonly string[]): unknown {
    const usage = asUsageError(error);
    if (!(error instanceof CommanderError) || !(usage instanceof UsageError)) return usage;
    const [name = '', action = ''] = args;
    const spec = (this.#table as CommandTable)[name];
    const message =
      spec === undefined || !Object.hasOwn(this.#table, name)
        ? withChoices(usage.message, Object.keys(this.#table))
        : explainUsage(usage.message, { code: error.code, name, spec, action });
    return new UsageError(message, { cause: error });
  }
}

interface Failed {
  readonly code: string;
  readonly name: string;
  readonly spec: CommandSpec;
  readonly action: string;
}

function explainUsage(message: string, { code, name, spec, action }: Failed): string {
  const { actions } = spec;
  const hasAction = actions !== undefined && Object.hasOwn(actions, action);
  if (code === 'commander.unknownCommand' && actions !== undefined) {
    return withChoices(message.replace(' command ', ' action '), Object.keys(actions));
  }
  if (code === 'commander.help' && actions !== undefined) {
    return withChoices(`Name an action of ${PROGRAM} ${name}`, Object.keys(actions));
  }
  const { operands = '', excess } = shapeOf(spec, hasAction ? action : undefined);
  if (code === 'commander.excessArguments' && excess !== undefined) return excess;
  const command = `${PROGRAM} ${hasAction ? `${name} ${action}` : name}`;
  const usage = [command, operands, '[OPTIONS]'].filter(Boolean).join(' ');
  const what = code === 'commander.excessArguments' ? 'Too many operands' : message;
  return `${what}${what.endsWith('?') ? ' Usage' : '; usage'}: ${usage}`;
}

function withChoices(message: string, words: readonly string[]): string {
  return message.endsWith('?') ? message : `${message}: use ${inWords(words)}`;
}

/** True for a command line that asks for JSON, also where it cannot be parsed. */
export function wantsJsonErrors(
  args: readonly string[],
  environment: Environment = ENVIRONMENT,
): boolean {
  const end = args.indexOf('--');
  const flags = (end < 0 ? args : args.slice(0, end)).join(' ');
  const given = [...flags.matchAll(/(?:^| )(?:-o ?|--(?:output|format)[ =])(\S+)/g)].at(-1)?.[1];
  return (given ?? environment[variableOf('output')]) === 'json';
}

/** Without the options, which every command has. */
function subcommandTerm(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
    return argument.required ? name : `[${name}]`;
  });
  return [command.name(), ...words].join(' ');
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function shapeOf(spec: CommandSpec, action: string | undefined): Omit<ActionSpec, 'summary'> {
  const { operands } = spec;
  if (action !== undefined) return spec.actions?.[action] ?? {};
  return operands === undefined ? {} : { operands };
}

/** `NAME [PATH…]` in the form of commander: `<NAME>`, `[PATH...]`. */
function argumentsIn(operands: string): string[] {
  return operands
    .split(' ')
    .filter(Boolean)
    .map((word) => word.replace('…', '...'))
    .map((word) => (word.startsWith('[') ? word : `<${word}>`));
}

/** Examples of a command; for an action those that run it, if there are any. */
function examplesOf({ examples }: CommandSpec, action?: string): string {
  const own = examples.filter(
    ({ command }) => action !== undefined && command.split(/\s+/).includes(action),
  );
  const shown = own.length > 0 ? own : examples;
  const lines = shown.flatMap(({ command, purpose }) => [`  # ${purpose}`, `  ${command}`]);
  return ['', 'Examples:', ...lines, '', NOTE].join('\n');
}
