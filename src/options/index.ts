/** Public names of `options/`: other folders import this file alone. */
export { parseCommandLine, wantsJsonErrors } from './command-line.ts';
export { COMMAND_TABLE, type CommandName, isCommandName } from './command-table.ts';
export { completionScript, readShell } from './completion.ts';
export { explainError } from './explain-error.ts';
export { ENVIRONMENT, type ParsedOptions, UsageError } from './parse-options.ts';
export { type Address, parseAddress, readChoice, readNumber, readPath } from './values.ts';
