/** Program of `npm run bench`. */
import { describeOption, type OptionSpec } from '../../src/options/option-spec.ts';
import { parseOptions, UsageError } from '../../src/options/parse-options.ts';
import { bench } from './bench.ts';
import { BENCH_OPTIONS } from './options.ts';

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) process.stdout.write(BENCH_OPTIONS.map(lineOf).join(''));
  else process.exitCode = await bench(parseOptions(BENCH_OPTIONS, args), process.stdout);
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

function lineOf(option: OptionSpec): string {
  return `  ${`--${option.name} ${option.value ?? ''}`.padEnd(26)} ${describeOption(option)}\n`;
}
