/** Reference of the command line: usage, actions and examples of every command. */
import type { CommandSpec } from '../src/options/command-spec.ts';
import { COMMAND_TABLE } from '../src/options/command-table.ts';
import { table } from './markdown-table.ts';

export function cliReference(): string {
  return Object.entries(COMMAND_TABLE)
    .map(([name, spec]) => section(name, spec))
    .join('\n\n');
}

function section(name: string, spec: CommandSpec): string {
  const { summary, actions, examples } = spec;
  const usage = fence(usageLines(name, spec).join('\n'));
  const rows = Object.entries(actions ?? {}).map(([action, of]) => [
    `\`${[action, of.operands].filter(Boolean).join(' ')}\``,
    of.summary,
  ]);
  const shown = examples.map(({ command, purpose }) => `# ${purpose}\n${command}`).join('\n');
  const link = `[Options](options.md#gitplane-${name})`;
  return [
    `## gitplane ${name}`,
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}. ${spec.options.length > 0 ? link : ''}`.trimEnd(),
    usage,
    ...(rows.length > 0 ? [table(['Action', 'Meaning'], rows)] : []),
    fence(shown),
  ].join('\n\n');
}

function usageLines(name: string, { operands, actions }: CommandSpec): string[] {
  const line = (...words: readonly (string | undefined)[]): string =>
    ['gitplane', name, ...words, '[OPTIONS]'].filter(Boolean).join(' ');
  if (actions === undefined) return [line(operands)];
  return Object.entries(actions).map(([action, of]) => line(action, of.operands));
}

function fence(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}
