/**
 * DeleteOptions (reference: Kubernetes API, section 2.12): from the body, or else from the query.
 * Wrong types are 400, values that are not allowed 422.
 */
import {
  badRequest,
  type FieldError,
  invalid,
  isRecord,
  notSupported,
} from '../../apimachinery/index.ts';
import type { PropagationPolicy } from '../../registry/index.ts';
import { queryFlag } from './request-info.ts';
import { dryRunErrors, invalidOptions } from './write-options.ts';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagationPolicy: PropagationPolicy | undefined;
  /** Deprecated; never set together with a policy. `false` makes a delayed removal answer 202. */
  readonly orphanDependents: boolean | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

/** The same words, not yet judged. */
interface RawOptions {
  readonly dryRun: readonly unknown[];
  readonly propagationPolicy: string | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
}

const POLICIES = ['Foreground', 'Background', 'Orphan'];

/** `body`: the decoded body; undefined when the request had none. */
export function parseDeleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const raw = body === undefined ? fromQuery(query) : fromBody(body);
  const errors = [...policyErrors(raw), ...dryRunErrors(raw.dryRun)];
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  return {
    ...raw,
    dryRun: raw.dryRun.length > 0,
    propagationPolicy: policyOf(raw),
  };
}

function policyOf(raw: RawOptions): PropagationPolicy | undefined {
  const { propagationPolicy, orphanDependents } = raw;
  if (orphanDependents !== undefined) return orphanDependents ? 'Orphan' : 'Background';
  return propagationPolicy as PropagationPolicy | undefined;
}

function policyErrors({ propagationPolicy, orphanDependents }: RawOptions): FieldError[] {
  const path = ['propagationPolicy'];
  if (propagationPolicy === undefined) return [];
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalid(path, propagationPolicy, why));
  }
  if (!POLICIES.includes(propagationPolicy)) {
    errors.push(notSupported(path, propagationPolicy, POLICIES));
  }
  return errors;
}

function fromQuery(query: URLSearchParams): RawOptions {
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && !/^-?\d{1,15}$/.test(grace)) throw wrongType('gracePeriodSeconds');
  return {
    dryRun: query.getAll('dryRun'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    orphanDependents: queryFlag(query, 'orphanDependents'),
    gracePeriodSeconds: grace === null ? undefined : Number(grace),
    preconditions: {},
  };
}

function fromBody(body: unknown): RawOptions {
  if (!isRecord(body)) throw badRequest('the body of a DELETE must be DeleteOptions');
  if (body['kind'] !== undefined && body['kind'] !== 'DeleteOptions') {
    throw badRequest('the body of a DELETE cannot be read as DeleteOptions: it has another kind');
  }
  const preconditions = body['preconditions'] ?? {};
  if (!isRecord(preconditions)) throw wrongType('preconditions');
  const uid = read(preconditions, 'uid', isString);
  const resourceVersion = read(preconditions, 'resourceVersion', isString);
  return {
    dryRun: read(body, 'dryRun', Array.isArray) ?? [],
    propagationPolicy: read(body, 'propagationPolicy', isString),
    orphanDependents: read(body, 'orphanDependents', isBoolean),
    gracePeriodSeconds: read(body, 'gracePeriodSeconds', isInteger),
    preconditions: {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

/** Null counts as absent. */
function read<T>(
  from: Record<string, unknown>,
  field: string,
  is: (value: unknown) => value is T,
): T | undefined {
  const value = from[field] ?? undefined;
  if (value === undefined) return undefined;
  if (!is(value)) throw wrongType(field);
  return value;
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

function wrongType(field: string) {
  return badRequest(`DeleteOptions: ${field} has a value of the wrong type`);
}
