/** Declaration of an option: source of its flag, its variable, its default, and its line in the help
 * and in the documentation. */
export interface OptionSpec {
  readonly name: string;
  /** One letter: `-f` for `--file`. */
  readonly short?: string;
  /** Placeholder for the value in the help; absent: the flag takes none. */
  readonly value?: string;
  readonly default?: string;
  readonly help: string;
  readonly multiple?: boolean;
  /** Variable of other programs with the same meaning, such as KUBECONFIG. */
  readonly variable?: string;
}

/** `--data-dir` is also `GITPLANE_DATA_DIR`. */
export function variableOf(name: string): string {
  return `GITPLANE_${name.toUpperCase().replaceAll('-', '_')}`;
}
