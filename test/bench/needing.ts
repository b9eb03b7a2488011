/** Rows that need a program which not every machine has. */
import type { Fixture } from './fixture.ts';
import type { Line } from './report.ts';

export type Measure = (fixture: Fixture) => Promise<Line[]>;

/** A row that needs a peer. If `missing` returns a reason, the row reports it and has no lines. */
export function needing(
  missing: () => string | undefined,
  row: string,
  measure: Measure,
): [string, Measure] {
  const measured = async (fixture: Fixture): Promise<Line[]> => {
    const reason = missing();
    if (reason === undefined) return await measure(fixture);
    process.stderr.write(`bench: the row ${row} is SKIPPED: ${reason}\n`);
    return [];
  };
  return [row, measured];
}
