/** One object as the only client that writes it knows it. */
import { isDeepStrictEqual } from 'node:util';
import { API } from '../support/daemon.ts';

/** Facts that must be the same for every reader and after every crash. */
export interface View {
  readonly uid: string | undefined;
  readonly creationTimestamp: string | undefined;
  readonly generation: number;
  readonly spec: unknown;
  readonly labels: Readonly<Record<string, string>>;
  readonly finalizers: readonly string[];
  readonly terminating: boolean;
}

/** A write that nobody answered yet. */
export interface Pending {
  readonly key: string;
  readonly expected: View | null;
  /** Whether it becomes a commit when it is done. */
  readonly commits: boolean;
}

export interface Life {
  readonly name: string;
  readonly kind: 'Team' | 'SharedSecret';
  /** Of the API. */
  readonly collection: string;
  /** Where its manifest is in git. */
  readonly file: string;
  /** As last acknowledged; null: absent. */
  known: View | null;
  /** Of the newest answer. */
  resourceVersion: string;
  pending: Pending | undefined;
}

const NAMESPACE = 'faults';

export function newLife(name: string, kind: Life['kind'], folder?: string): Life {
  const isTeam = kind === 'Team';
  const place = isTeam ? 'teams' : `namespaces/${NAMESPACE}/sharedsecrets`;
  const collection = isTeam ? `${API}/teams` : `${API}/namespaces/${NAMESPACE}/sharedsecrets`;
  const file = `${folder ?? place}/${name}.yaml`;
  return { name, kind, collection, file, known: null, resourceVersion: '', pending: undefined };
}

// biome-ignore lint/suspicious/noExplicitAny: objects of every shape
export function viewOf({ metadata, spec }: any): View {
  return {
    uid: metadata.uid,
    creationTimestamp: metadata.creationTimestamp,
    generation: metadata.generation,
    spec,
    labels: metadata.labels ?? {},
    finalizers: metadata.finalizers ?? [],
    terminating: metadata.deletionTimestamp !== undefined,
  };
}

/** Whether an object is as expected; what nobody can know in advance may be anything. */
export function fits(found: View | null, expected: View | null): boolean {
  if (found === null || expected === null) return found === expected;
  return isDeepStrictEqual(found, {
    ...expected,
    uid: expected.uid ?? found.uid,
    creationTimestamp: expected.creationTimestamp ?? found.creationTimestamp,
  });
}

/** The `spec` that carries a mark; each mark is written once. */
export function specOf(kind: Life['kind'], mark: string): object {
  if (kind === 'Team') return { displayName: mark };
  return { displayName: mark, data: { value: Buffer.from(mark).toString('base64') } };
}

export function manifestOf({ kind, name }: Life, mark: string): string {
  const namespace = kind === 'Team' ? '' : `\n  namespace: ${NAMESPACE}`;
  const spec = JSON.stringify(specOf(kind, mark));
  return `apiVersion: management.gitplane.dev/v1\nkind: ${kind}\nmetadata:\n  name: ${name}${namespace}\nspec: ${spec}\n`;
}

/** A new object. */
export function created(kind: Life['kind'], mark: string, finalizers: readonly string[]): View {
  return {
    uid: undefined,
    creationTimestamp: undefined,
    generation: 1,
    spec: specOf(kind, mark),
    labels: {},
    finalizers,
    terminating: false,
  };
}
