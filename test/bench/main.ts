/** Program of `npm run bench`. */
import { describeOptions } from '../../src/options/describe-options.ts';
import { parseOptions, UsageError } from '../../src/options/parse-options.ts';
import { bench } from './bench.ts';
import { BENCH_OPTIONS } from './options.ts';

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) process.stdout.write(`${describeOptions(BENCH_OPTIONS)}\n`);
  else process.exitCode = await bench(parseOptions(BENCH_OPTIONS, args), process.stdout);
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
