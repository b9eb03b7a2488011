/** The table of what each fault does, from the runs: a generated part of docs/replicas.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { table } from '../../../scripts/markdown-table.ts';
import { FAULTS } from './faults.ts';
import type { RunReport } from './run.ts';
import type { Harm } from './scene.ts';

const BEGIN = '<!-- faults: begin -->';
const END = '<!-- faults: end -->';
const HEAD = ['Fault', 'Runs', 'Operations', 'Lost', 'Doubled', 'Stale', 'Other', 'Failover'];

/** Puts the table between the marks of a page. `begun`: when the runs began. */
export function writeTable(page: string, reports: readonly RunReport[], begun: Date): void {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from === -1 || to === -1) throw new Error(`${page} has no place for the table: ${BEGIN}`);
  const part = `${BEGIN}\n${faultTable(reports, begun)}\n`;
  writeFileSync(page, text.slice(0, from) + part + text.slice(to));
}

/** Of two faults in one run each counts, and what was wrong counts for both. */
export function faultTable(reports: readonly RunReport[], begun: Date): string {
  const rows = FAULTS.map(({ name }) => {
    const own = reports.filter(({ names }) => names.includes(name));
    return own.length === 0 ? [name, 'none'] : [name, ...cellsOf(own)];
  });
  const day = begun.toISOString().slice(0, 10);
  const minutes = Math.round((Date.now() - begun.getTime()) / 60_000);
  const load = loadavg()[2]?.toFixed(0) ?? '?';
  const where = `${availableParallelism()} cores, load average ${load}`;
  return [
    `${day}, ${reports.length} runs in ${minutes} minutes (${where}). Failover: p50 / p99 from the fault until another replica`,
    'acknowledges a write that began since, of runs with this fault alone that met the leader.',
    '',
    table(
      HEAD,
      [...rows, ['all', ...cellsOf(reports)]].map((row) => HEAD.map((_, i) => row[i] ?? '')),
    ),
  ].join('\n');
}

function cellsOf(reports: readonly RunReport[]): string[] {
  const harmed = (harm: Harm): string => {
    const found = reports.flatMap(({ violations }) => violations);
    return String(found.filter((one) => one.harm === harm).length);
  };
  const operations = reports.reduce((sum, one) => sum + one.operations, 0);
  const times = reports.flatMap(({ failovers }) => failovers).sort((a, b) => a - b);
  const at = (part: number): string =>
    ((times[Math.ceil(part * times.length) - 1] ?? 0) / 1000).toFixed(1);
  const failover = times.length === 0 ? '' : `${at(0.5)} / ${at(0.99)} s (${times.length})`;
  const harms = (['lost', 'doubled', 'stale', 'other'] as const).map(harmed);
  return [String(reports.length), String(operations), ...harms, failover];
}
