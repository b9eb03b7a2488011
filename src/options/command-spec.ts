/** Declaration of a command: source of its help, its parser, its completion and its documentation. */
import type { OptionSpec } from './option-spec.ts';

export interface Example {
  /** Begins with `gitplane`; a pipe before or after it is part of the text. */
  readonly command: string;
  readonly purpose: string;
}

/** One verb of a command, such as `create` of `keys`. */
export interface ActionSpec {
  readonly summary: string;
  /** Operands of the usage line: `NAME [KEY]`, `[PATH…]`. */
  readonly operands?: string;
  /** Error for more operands than these. */
  readonly excess?: string;
}

export interface CommandSpec {
  readonly group: CommandGroup;
  readonly summary: string;
  readonly operands?: string;
  /** The first operand names one of them. */
  readonly actions?: Readonly<Record<string, ActionSpec>>;
  /** Runs when no action is named. */
  readonly defaultAction?: string;
  readonly options: readonly OptionSpec[];
  readonly examples: readonly [Example, Example, ...Example[]];
  /** Exit status for failures; 1 when absent. */
  readonly failureStatus?: number;
}

export type CommandGroup = 'Daemon' | 'Manifests' | 'Secrets in git' | 'Access' | 'Other';

export type CommandTable = Readonly<Record<string, CommandSpec>>;

/** Options that an action takes; without an action, all. */
export function optionsOf(spec: CommandSpec, action: string | undefined): readonly OptionSpec[] {
  return spec.options.filter(
    ({ actions }) => actions === undefined || action === undefined || actions.includes(action),
  );
}
