/** What was measured, as a table for people and as JSON for programs. */
import type { Summary } from './statistics.ts';

/** Milliseconds are latencies and shown as p50 / p99; the others as medians of repetitions. */
export type Unit = 'ms' | 'us' | 's' | '/s' | 'MB' | 'KB';

export interface Reference {
  readonly name: string;
  readonly measured: Summary;
}

export interface Goal {
  readonly text: string;
  readonly met: boolean;
}

/** A line of the table: one figure of the daemon beside what it is compared with. */
export interface Line {
  readonly name: string;
  readonly unit: Unit;
  readonly measured: Summary;
  readonly reference?: Reference;
  readonly goal?: Goal;
}

export interface Machine {
  readonly cores: number;
  readonly node: string;
  readonly git: string;
  readonly platform: string;
}

export interface Setting {
  readonly machine: Machine;
  readonly manifests: number;
  readonly bytes: number;
  readonly repetitions: number;
}

/** Measured divided by reference, both at the median. */
export function ratioOf({ measured, reference }: Omit<Line, 'goal'>): number | undefined {
  return reference === undefined ? undefined : measured.median / reference.measured.median;
}

/** Limit of the ratio, or of the figure itself. */
export type Bound =
  | { readonly atMost: number }
  | { readonly atLeast: number }
  | { readonly below: number };

/** `line` with its goal. */
export function withGoal(line: Line, bound: Bound): Line {
  return { ...line, goal: goalOf(line, bound) };
}

function goalOf(line: Line, bound: Bound): Goal {
  if ('below' in bound) {
    const { median } = line.measured;
    return { text: `< ${bound.below} ${line.unit}`, met: median < bound.below };
  }
  const ratio = ratioOf(line) ?? Number.NaN;
  return 'atMost' in bound
    ? { text: `≤ ${bound.atMost}x`, met: ratio <= bound.atMost }
    : { text: `≥ ${bound.atLeast}x`, met: ratio >= bound.atLeast };
}

export function formatHeading({ machine, manifests, bytes, repetitions }: Setting): string {
  const { cores, platform, node, git } = machine;
  const size = `${manifests} manifests of ${Math.round(bytes / manifests)} bytes`;
  const where = `${cores} cores, ${platform}, Node ${node}, git ${git}`;
  const columns = row(['', 'measured', 'reference', 'ratio', 'goal'], '');
  const note = 'Latencies are p50 / p99. Ratio = measured / reference, at the median.';
  return `bench: ${size}; ${where}; ${repetitions} repetitions\n${note}\n\n${columns}`;
}

export function formatLine(line: Line): string {
  const { name, unit, measured, reference, goal } = line;
  const ratio = ratioOf(line);
  const missed = goal?.met === false ? ' missed' : '';
  const cells = [
    name,
    formatSummary(measured, unit),
    reference === undefined ? '' : formatSummary(reference.measured, unit),
    ratio === undefined ? '' : `${significant(ratio)}x`,
    goal === undefined ? '' : goal.text + missed,
  ];
  return row(cells, reference?.name ?? '');
}

const WIDTHS = [44, 19, 19, 7, 16] as const;

function row(cells: readonly string[], last: string): string {
  const padded = WIDTHS.map((width, i) =>
    i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width),
  );
  return `${padded.join('  ')}  ${last}`.trimEnd();
}

function formatSummary({ median, p99 }: Summary, unit: Unit): string {
  const separator = unit.startsWith('/') ? '' : ' ';
  const text = unit === 'ms' ? `${significant(median)} / ${significant(p99)}` : significant(median);
  return text + separator + unit;
}

/** Three significant digits, without an exponent. */
function significant(value: number): string {
  if (value >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

export function formatJson(setting: Setting, rows: ReadonlyMap<string, readonly Line[]>): string {
  const report = {
    ...setting,
    rows: [...rows].map(([row, lines]) => ({
      row,
      lines: lines.map((line) => ({ ...line, ratio: ratioOf(line) })),
    })),
  };
  return JSON.stringify(report, null, 2);
}
