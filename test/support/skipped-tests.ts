/** The last block of a run: tests that were skipped, the peer that each needs, and the line that installs it. */
import { readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';
import { installLine, missingPeers, type Peer } from '../../scripts/peers.mjs';

interface Skipped {
  readonly file: string;
  readonly count: number;
}

export class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const all = modules.flatMap((module) => [...module.children.allTests()]).length;
    const skipped = modules
      .map((module): Skipped => {
        const tests = [...module.children.allTests('skipped')];
        return { file: module.moduleId, count: tests.length };
      })
      .filter(({ count }) => count > 0);
    if (skipped.length === 0) return;
    process.stdout.write(describeSkips({ skipped, all, missing: missingPeers() }));
  }
}

/** Each file counts for the first missing peer that its text names. */
export function describeSkips(run: {
  readonly skipped: readonly Skipped[];
  /** Tests of the run, skipped or not. */
  readonly all: number;
  readonly missing: readonly Peer[];
}): string {
  const { skipped, all, missing } = run;
  const counts = new Map<string, Skipped[]>();
  for (const entry of skipped) {
    const text = readFileSync(entry.file, 'utf8');
    const peer = missing.find(({ marker }) => marker.test(text));
    const reason = peer?.name ?? 'a condition in the test file';
    counts.set(reason, [...(counts.get(reason) ?? []), entry]);
  }
  const lines = [...counts].map(([reason, entries]) => {
    const remedy = missing.find(({ name }) => name === reason)?.remedy;
    const tests = `${sum(entries)} tests in ${entries.length} files`;
    return `  ${reason}: ${tests}${remedy === undefined ? '' : `. Remedy: ${remedy}`}`;
  });
  const install = installLine(missing.filter(({ name }) => counts.has(name)));
  return [
    '',
    `SKIPPED: ${sum(skipped)} of ${all} tests need something that is missing here:`,
    ...lines,
    ...(install === '' ? [] : [`Install the missing packages: ${install}`]),
    '',
  ].join('\n');
}

function sum(entries: readonly Skipped[]): number {
  return entries.reduce((total, { count }) => total + count, 0);
}
