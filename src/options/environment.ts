/** Check of the environment: a misspelt variable of ours would be ignored without a word. */
import { distance } from 'fastest-levenshtein';
import type { CommandTable } from './command-spec.ts';
import { variableOf } from './option-spec.ts';
import { type Environment, UsageError } from './parse-options.ts';

/** Kubernetes and Docker set these for a service named gitplane. */
const OF_SERVICES = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;
const PREFIX = variableOf('');

/** Throws UsageError for a variable that resembles one of an option. */
export function checkEnvironment(table: CommandTable, environment: Environment): void {
  const given = Object.keys(environment).filter((name) => name.startsWith(PREFIX));
  if (given.length === 0) return;
  const names = Object.values(table).flatMap(({ options }) =>
    options.flatMap(({ name, alias }) => (alias === undefined ? [name] : [name, alias])),
  );
  const known = new Set(names.map(variableOf));
  for (const name of given) {
    if (known.has(name) || OF_SERVICES.test(name)) continue;
    const meant = closest(name, known);
    if (meant === undefined) continue;
    throw new UsageError(`Unknown environment variable ${name}: did you mean ${meant}?`);
  }
}

/** A name that differs by a typing error: one edit in short names, two in longer ones. */
function closest(name: string, known: Iterable<string>): string | undefined {
  const limit = name.length - PREFIX.length < 7 ? 1 : 2;
  return [...known].find((candidate) => distance(name, candidate) <= limit);
}
