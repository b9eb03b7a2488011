/** Declaration of an option: source of its flag, its variable, its default, and its line in the help
 * and in the documentation. */
export interface OptionSpec {
  readonly name: string;
  /** One letter: `-f` for `--file`. */
  readonly short?: string;
  /** Further name of the same option. */
  readonly alias?: string;
  /** Placeholder for the value in the help; absent: the flag takes none. */
  readonly value?: string;
  /** Accepted values; absent: any. */
  readonly choices?: readonly string[];
  readonly default?: string;
  readonly help: string;
  readonly multiple?: boolean;
  /** Variable of other programs with the same meaning, such as KUBECONFIG. */
  readonly variable?: string;
  /** Heading in the help of the command; absent: `Options`. */
  readonly group?: string;
  /** Actions that take the option; absent: every action of the command. */
  readonly actions?: readonly string[];
}

/** `--data-dir` is also `GITPLANE_DATA_DIR`. */
export function variableOf(name: string): string {
  return `GITPLANE_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** Help of an option with its choices, other name and default, for terminals and documentation. */
export function describeOption({ help, choices, alias, default: fallback }: OptionSpec): string {
  return [
    choices === undefined ? help : `${help}: ${inWords(choices)}`,
    ...(alias === undefined ? [] : [`; also --${alias}`]),
    ...(fallback === undefined ? [] : [` (default: ${fallback})`]),
  ].join('');
}

/** `text, json or yaml`. */
export function inWords(words: readonly string[]): string {
  const [last = '', ...others] = [...words].reverse();
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`;
}
