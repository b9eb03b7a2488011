/** `gitplane secrets`: values of secrets, and the sync with the secret store, as the platform tells it. */
import { isRecord } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { type Connection, openConnection } from './connection.ts';
import { type Output, print } from './print.ts';
import { getSecret, setSecret, type ValueInput } from './secret-values.ts';

const HELP = `Write: gitplane secrets sync [--now [--wait] [--store NAME] [--allow-deletions]]; get [[NAMESPACE/]NAME [KEY]]; or set [NAMESPACE/]NAME KEY with the value on standard input or --from-file FILE`;

export async function secrets(options: ParsedOptions, input: ValueInput): Promise<number> {
  const act = ACTIONS[options.operands[0] ?? ''];
  if (act === undefined) throw new UsageError(HELP);
  return await act(options, input);
}

type Action = (options: ParsedOptions, input: ValueInput) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  get: getSecret,
  set: setSecret,
  sync: async (options, { out }) => {
    if (options.operands.length > 1) throw new UsageError(HELP);
    return await sync(await openConnection(options), options, out);
  },
};

const PATIENCE_MS = 120_000;

/** 1 when the store does not respond, or a secret needs attention. */
async function sync(connection: Connection, options: ParsedOptions, out: Output): Promise<number> {
  const [now, wait] = [options.isOn('now'), options.isOn('wait')];
  const allowDeletions = options.isOn('allow-deletions');
  const store = options.text('store');
  if (!now) {
    if (wait || allowDeletions || store !== undefined) throw new UsageError(HELP);
    return tell(await connection.ask('GET', 'secret-store'), options, out);
  }
  const query = new URLSearchParams({ timeout: `${PATIENCE_MS / 1000}s` });
  if (wait) query.set('wait', 'true');
  if (allowDeletions) query.set('allowDeletions', 'true');
  if (store !== undefined) query.set('store', store);
  const timeoutMs = PATIENCE_MS + 5_000;
  const report = await connection.ask('POST', `secret-store/sync?${query}`, { timeoutMs });
  if (wait) return tell(report, options, out);
  print(options, out, { text: 'a cycle over all secrets begins\n', json: report });
  return 0;
}

function tell(report: unknown, options: ParsedOptions, out: Output): number {
  const { counts, attention, stores } = isRecord(report) ? report : {};
  const all = [report, ...list(stores)].filter(isRecord);
  const lines = all.flatMap((store) => storeLines(store, all.length > 1));
  const standing = Object.entries(isRecord(counts) ? counts : {}).filter(
    ([, count]) => count !== 0,
  );
  if (standing.length > 0)
    lines.push(standing.map(([name, count]) => `${count} ${name}`).join(', '));
  for (const one of list(attention).filter(isRecord)) {
    const { kind, namespace, name, state: standing, reason, message: text } = one;
    lines.push(`${standing}: ${kind} ${namespace}/${name}: ${reason}: ${text}`);
  }
  print(options, out, { text: `${lines.join('\n')}\n`, json: report });
  const isAway = all.some(({ state }) => state === 'unavailable');
  const isComplete = all.flatMap(({ pulls }) => list(pulls)).every(isPulled);
  return isAway || list(attention).length > 0 || !isComplete ? 1 : 0;
}

function isPulled(pull: unknown): boolean {
  return isRecord(pull) && pull['problem'] === undefined && list(pull['refused']).length === 0;
}

function pullLines(pull: Readonly<Record<string, unknown>>): string[] {
  const { name, place, namespace, tied, untied, refused, refusedCount, problem } = pull;
  const counts = Object.entries({ tied, untied, refused: refusedCount })
    .filter(([, count]) => count !== 0)
    .map(([state, count]) => `${count} ${state}`);
  const why = isRecord(problem) ? `: ${problem['reason']}: ${problem['message']}` : '';
  return [
    `pull ${name} of ${place} into ${namespace}: ${counts.join(', ') || 'nothing'}${why}`,
    ...list(refused)
      .filter(isRecord)
      .map(({ reason, message }) => `refused: ${reason}: ${message}`),
  ];
}

function storeLines(report: Readonly<Record<string, unknown>>, hasName: boolean): string[] {
  const { name, state, address, message, warnings, pulls } = report;
  const which = hasName ? ` ${String(name)}` : '';
  const where = typeof address === 'string' ? ` (${address})` : '';
  const why = typeof message === 'string' ? `: ${message}` : '';
  return [
    `secret store${which} ${String(state)}${where}${why}`,
    ...list(warnings).map((warning) => `warning: ${String(warning)}`),
    ...list(pulls).filter(isRecord).flatMap(pullLines),
  ];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
