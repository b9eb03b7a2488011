#!/usr/bin/env node
/** Runs the command that the command line names, and sets the exit status. */
import { COMMANDS } from './commands.ts';
import { describeOptions, parseOptions, UsageError } from './options/index.ts';

function help(): string {
  const blocks = Object.entries(COMMANDS).map(([name, command]) =>
    [
      `${`gitplane ${name} ${command.operands}`.trimEnd()}: ${command.summary}`,
      describeOptions(command.options),
    ]
      .filter((part) => part !== '')
      .join('\n'),
  );
  const note = 'Every flag is also an environment variable: --data-dir is GITPLANE_DATA_DIR.';
  return `${blocks.join('\n\n')}\n\n${note}\n`;
}

async function run(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.includes('--help')) {
    process.stdout.write(help());
    return 0;
  }
  const command = name === '--version' ? COMMANDS['version'] : COMMANDS[name];
  if (command === undefined) {
    const names = Object.keys(COMMANDS).join(', ');
    throw new UsageError(`Unknown command "${name}": use one of ${names}`);
  }
  return await command.run(parseOptions(command.options, rest));
}

async function main(args: readonly string[]): Promise<void> {
  try {
    process.exitCode = await run(args);
  } catch (error) {
    // One line without a stack.
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`gitplane: ${message}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

// Not awaited: a bundled script has no top-level await.
void main(process.argv.slice(2));
