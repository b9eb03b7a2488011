/** Every command, in the order of the help. */
import { ACCESS_COMMANDS } from './access-commands.ts';
import type { CommandSpec } from './command-spec.ts';
import { DAEMON_COMMANDS } from './daemon-commands.ts';
import { MANIFEST_COMMANDS } from './manifest-commands.ts';

const COMMANDS = { ...DAEMON_COMMANDS, ...MANIFEST_COMMANDS, ...ACCESS_COMMANDS };

export type CommandName = keyof typeof COMMANDS;

export const COMMAND_TABLE: Readonly<Record<CommandName, CommandSpec>> = COMMANDS;

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(COMMAND_TABLE, name);
}
