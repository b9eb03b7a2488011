/** `gitplane secrets`: the sync with the secret store, as the platform tells it. */
import { isRecord } from '../apimachinery/object.ts';
import { type ParsedOptions, UsageError } from '../options.ts';
import { type Connection, openConnection } from './connection.ts';
import type { Output } from './validate.ts';

const HELP = 'Write: gitplane secrets sync [--now [--wait] [--allow-deletions]]';

export async function secrets(options: ParsedOptions, out: Output): Promise<number> {
  const [action = '', ...more] = options.operands;
  const act = ACTIONS[action];
  if (act === undefined || more.length > 0) throw new UsageError(HELP);
  return await act(await openConnection(options), options, out);
}

type Action = (connection: Connection, options: ParsedOptions, out: Output) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = { sync };

const PATIENCE_MS = 120_000;

/** 1 when the store does not answer, or a secret needs somebody to look at it. */
async function sync(connection: Connection, options: ParsedOptions, out: Output): Promise<number> {
  const isOn = (name: string): boolean => options.text(name) === 'true';
  const [now, wait] = [isOn('now'), isOn('wait')];
  const allowDeletions = isOn('allow-deletions');
  if (!now) {
    if (wait || allowDeletions) throw new UsageError(HELP);
    return tell(await connection.ask('GET', 'secret-store'), out);
  }
  const query = new URLSearchParams({ timeout: `${PATIENCE_MS / 1000}s` });
  if (wait) query.set('wait', 'true');
  if (allowDeletions) query.set('allowDeletions', 'true');
  const report = await connection.ask('POST', `secret-store/sync?${query}`, PATIENCE_MS + 5_000);
  if (wait) return tell(report, out);
  out.write('a cycle over all secrets begins\n');
  return 0;
}

function tell(report: unknown, out: Output): number {
  const { state, address, message, warnings, counts, attention } = isRecord(report) ? report : {};
  const where = typeof address === 'string' ? ` (${address})` : '';
  const why = typeof message === 'string' ? `: ${message}` : '';
  const lines = [`secret store ${String(state)}${where}${why}`];
  for (const warning of list(warnings)) lines.push(`warning: ${String(warning)}`);
  const standing = Object.entries(isRecord(counts) ? counts : {}).filter(
    ([, count]) => count !== 0,
  );
  if (standing.length > 0)
    lines.push(standing.map(([name, count]) => `${count} ${name}`).join(', '));
  for (const one of list(attention).filter(isRecord)) {
    const { kind, namespace, name, state: standing, reason, message: text } = one;
    lines.push(`${standing}: ${kind} ${namespace}/${name}: ${reason}: ${text}`);
  }
  out.write(`${lines.join('\n')}\n`);
  return state === 'unavailable' || list(attention).length > 0 ? 1 : 0;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
