/** The bench as a program of its own: what `npm run bench` runs. */
import { describeOptions } from '../options/describe-options.ts';
import { BENCH_OPTIONS } from '../options/operator-options.ts';
import { parseOptions, UsageError } from '../options/parse-options.ts';
import { bench } from './bench.ts';

const args = process.argv.slice(2);
try {
  if (args.includes('--help')) process.stdout.write(`${describeOptions(BENCH_OPTIONS)}\n`);
  else process.exitCode = await bench(parseOptions(BENCH_OPTIONS, args), process.stdout);
} catch (error) {
  process.stderr.write(
    `gitplane bench: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
