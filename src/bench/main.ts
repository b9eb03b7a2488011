/** The bench as a program of its own: what `npm run bench` runs. */
import { BENCH_OPTIONS, describeOptions, parseOptions, UsageError } from '../options.ts';
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
