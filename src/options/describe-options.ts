/** Options as text for a terminal. */
import type { OptionSpec } from './option-spec.ts';

/** One line of help per option. */
export function describeOptions(specs: readonly OptionSpec[]): string {
  const rows = specs.map((spec) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const flag = `${short}--${spec.name}${spec.value === undefined ? '' : ` ${spec.value}`}`;
    const fallback = spec.default === undefined ? '' : ` (default: ${spec.default})`;
    return `  ${flag.padEnd(26)} ${spec.help}${fallback}`;
  });
  return rows.join('\n');
}
