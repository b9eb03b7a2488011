#!/usr/bin/env node
/** Runs the command that the command line names, prints its error, and sets the exit status. */
import { terminalText } from './apimachinery/index.ts';
import { RUNNERS } from './commands.ts';
import {
  COMMAND_TABLE,
  explainError,
  isCommandName,
  parseCommandLine,
  UsageError,
  wantsJsonErrors,
} from './options/index.ts';
import { VERSION } from './version.ts';

async function run(args: readonly string[]): Promise<number> {
  const invocation = parseCommandLine(COMMAND_TABLE, args, { version: VERSION });
  if (!('text' in invocation)) return await RUNNERS[invocation.name](invocation.options);
  process.stdout.write(invocation.text);
  return 0;
}

async function main(args: readonly string[]): Promise<void> {
  try {
    process.exitCode = await run(args);
  } catch (error) {
    // One line without a stack.
    const message = explainError(error);
    process.exitCode = statusOf(error, args);
    process.stderr.write(`gitplane: ${terminalText(message)}\n`);
    if (!wantsJsonErrors(args)) return;
    const reason = error instanceof UsageError ? 'Usage' : 'Failed';
    const document = { error: { reason, message, exitStatus: process.exitCode } };
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  }
}

function statusOf(error: unknown, [name = '']: readonly string[]): number {
  if (error instanceof UsageError) return 2;
  return (isCommandName(name) ? COMMAND_TABLE[name].failureStatus : undefined) ?? 1;
}

// `gitplane crds | head` closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

// Not awaited: a bundled script has no top-level await.
void main(process.argv.slice(2));
