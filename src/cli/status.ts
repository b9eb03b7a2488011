/** `gitplane status`: the state of the platform on one screen. */
import { humanDuration, isRecord } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { openConnection } from './connection.ts';
import { AnswerError } from './https-client.ts';
import { type Output, print } from './print.ts';

type Section = Readonly<Record<string, unknown>>;

/** Lines of one section; more are counted. */
const MOST_LINES = 5;
const LABEL_WIDTH = 12;

/** Resolves to the exit status: 1 when a health check fails, or the branch is held or failing. */
export async function status(
  options: ParsedOptions,
  { out, now }: { readonly out: Output; readonly now: number },
): Promise<number> {
  const connection = await openConnection(options);
  const summary = await connection.ask('GET', 'summary').catch((error: unknown) => {
    if (!(error instanceof AnswerError) || error.code !== 404) throw error;
    throw new UsageError(`${connection.server} has no summary: it is older than this gitplane`, {
      cause: error,
    });
  });
  const document = isRecord(summary) ? summary : {};
  print(options, out, { text: textOf(document, connection.server, now), json: summary });
  const { health, branch } = document;
  const isApplied = !isRecord(branch) || branch['state'] === 'applied';
  return isRecord(health) && health['ok'] === true && isApplied ? 0 : 1;
}

function textOf(summary: Section, server: string, now: number): string {
  const blocks = [
    block('gitplane', [`${text(summary['version'])} at ${server}`]),
    block('health', healthLines(section(summary['health']))),
    block('branch', branchLines(summary['branch'], now)),
    block('held', heldLines(summary['held'])),
    block('suspended', list(summary['suspensions']).map(suspensionLine)),
    block('pushes', pushLines(section(summary['pushes']), now)),
    block('objects', objectLines(summary['kinds'])),
    block('degraded', counted(summary['degraded'], placeLine)),
    block('problems', counted(withoutDegraded(summary), placeLine)),
    block('conditions', counted(summary['conditions'], conditionLine)),
    block('stores', storeLines(section(summary['secretStore']))),
    block('replicas', replicaLines(summary['replicas'])),
    block('not shown', withheldLines(summary['withheld'])),
  ];
  return blocks.flat().join('');
}

/** Nothing for a section without lines. */
function block(label: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(LABEL_WIDTH)}${line}\n`);
}

function healthLines({ ok, checks }: Section): string[] {
  if (ok === true) return ['ok'];
  return list(checks)
    .filter(({ message }) => message !== undefined)
    .map(({ name, message }) => `PROBLEM  ${text(name)}: ${text(message)}`);
}

function branchLines(branch: unknown, now: number): string[] {
  if (!isRecord(branch)) return [];
  const { state, revision, head, message, commit, review } = branch;
  const shown = typeof revision === 'string' ? revision.slice(0, 12) : 'no commit';
  const what = `${shown}${commitText(section(commit), now)}`;
  const more = [
    ...(message === undefined ? [] : [text(message)]),
    ...(review === undefined ? [] : [`writes wait for review: ${text(review)}`]),
  ];
  if (state === 'applied' && head === revision) return [`applied ${what}`, ...more];
  const at = typeof head === 'string' ? ` at ${head.slice(0, 12)}` : '';
  return [`${text(state)}${at}`, `readers see ${what}`, ...more];
}

function commitText({ message, author, time }: Section, now: number): string {
  if (message === undefined) return '';
  const { name } = section(author);
  return ` "${text(message)}" by ${text(name ?? author)}${ageText(time, now)}`;
}

function heldLines(held: unknown): string[] {
  if (!isRecord(held)) return [];
  const { reason, message, remedy, pruneCount } = held;
  return [`${text(reason)}: ${text(message)}`, `removals: ${text(pruneCount)}`, text(remedy)];
}

function suspensionLine({ target, user, reason, until }: Section): string {
  return `${text(target)} until ${text(until)} by ${text(user)}: ${text(reason)}`;
}

function pushLines({ items }: Section, now: number): string[] {
  return list(items)
    .slice(0, MOST_LINES)
    .map(({ user, result, revision, time, lines }) => {
      const why = result === 'refused' ? refusalText(Array.isArray(lines) ? lines : []) : '';
      return `${text(result)} ${text(revision).slice(0, 12)} of ${text(user)}${ageText(time, now)}${why}`;
    });
}

/** The first problem; of a push over the prune budget, the sentence after the removed objects. */
function refusalText(lines: readonly unknown[]): string {
  const line = lines.find((one) => !String(one).startsWith('removes ')) ?? lines[0];
  return line === undefined ? '' : `: ${text(line)}`;
}

function objectLines(kinds: unknown): string[] {
  const counts = list(kinds)
    .filter(({ objects }) => objects !== 0)
    .map(({ plural, objects, partial }) => {
      return `${text(objects)} ${text(plural)}${partial === true ? ' (in your namespaces)' : ''}`;
    });
  return counts.length === 0 ? ['none'] : [counts.join(', ')];
}

function storeLines(store: Section): string[] {
  const { stores } = store;
  const all = [store, ...list(stores)].filter(({ state }) => state !== undefined);
  return all
    .filter(({ state }) => state !== 'off')
    .map(({ name, state, message, attentionCount }) => {
      const why = message === undefined ? '' : `: ${text(message)}`;
      const more = Number(attentionCount) > 0 ? `, ${text(attentionCount)} need attention` : '';
      return `${name === undefined ? '' : `${text(name)} `}${text(state)}${why}${more}`;
    });
}

function replicaLines(replicas: unknown): string[] {
  if (!isRecord(replicas)) return [];
  const { leader, items } = replicas;
  return list(items).map(({ id, url, version }) => {
    const role = id === leader ? ' (leader)' : '';
    return `${text(id)} ${text(url)} ${text(version)}${role}`;
  });
}

function withheldLines(withheld: unknown): string[] {
  const paths = new Set(list(withheld).map(({ verb, path }) => `${text(verb)} ${text(path)}`));
  return paths.size === 0 ? [] : [`sections that need the rights ${[...paths].join(', ')}`];
}

function placeLine({ kind, namespace, name, path, line, col, message }: Section): string {
  const object = kind === undefined ? '' : ` ${nameText({ kind, namespace, name })}`;
  return `${text(path)}:${text(line)}:${text(col)}:${object} ${text(message)}`;
}

function conditionLine({ conditions, ...object }: Section): string {
  const [{ type, reason, message } = {}] = list(conditions);
  return `${nameText(object)}: ${text(type)} ${text(reason)}: ${text(message)}`;
}

function nameText({ kind, namespace, name }: Section): string {
  return `${text(kind)} ${namespace === undefined ? '' : `${text(namespace)}/`}${text(name)}`;
}

/** The first items of `{count, items}`, and the number of the others. */
function counted(value: unknown, line: (item: Section) => string): string[] {
  const { count, items } = section(value);
  const shown = list(items).slice(0, MOST_LINES).map(line);
  const more = Number(count ?? 0) - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

/** Problems of files whose objects are not listed as degraded with the same place. */
function withoutDegraded(summary: Section): Section {
  const { count, items } = section(summary['problems']);
  const placeOf = ({ path, line, col }: Section): string =>
    `${text(path)}:${text(line)}:${text(col)}`;
  const degraded = new Set(list(section(summary['degraded'])['items']).map(placeOf));
  const others = list(items).filter((item) => !degraded.has(placeOf(item)));
  return { count: Number(count ?? 0) - (list(items).length - others.length), items: others };
}

function ageText(time: unknown, now: number): string {
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) ? '' : `, ${humanDuration(Math.max(0, now - at))} ago`;
}

function section(value: unknown): Section {
  return isRecord(value) ? value : {};
}

function list(value: unknown): Section[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** On one line: messages may have several, and control characters for the terminal. */
function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  return String(value)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}
