/**
 * Query options of list, watch and deletecollection (reference: Kubernetes API,
 * sections 2.4 to 2.7): selectors, paging, resourceVersion and how to match it.
 */
import {
  badRequest,
  type FieldError,
  type FieldSelector,
  forbidden,
  type LabelSelector,
  notSupported,
  parseFieldSelector,
  parseLabelSelector,
} from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { queryFlag } from './request-info.ts';
import { invalidOptions } from './write-options.ts';

export type VersionMatch = 'Exact' | 'NotOlderThan';

export interface ListOptions {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** 0: no limit. */
  readonly limit: number;
  /** Empty: from the beginning. */
  readonly continueToken: string;
  /** Undefined: the newest state. 0: any. */
  readonly resourceVersion: number | undefined;
  readonly match: VersionMatch | undefined;
  /** For watches. */
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** Throws 400 for syntax errors and 422 for options that exclude each other. */
export function parseListOptions(
  query: URLSearchParams,
  kind: Pick<Kind, 'scope' | 'selectableFields'> &
    Partial<Pick<Kind, 'fieldText' | 'strategicMerge'>>,
  mode: 'list' | 'watch',
): ListOptions {
  const selectable = [
    'metadata.name',
    // Kubernetes supports it for all its own kinds.
    ...(kind.scope === 'Namespaced' || kind.strategicMerge ? ['metadata.namespace'] : []),
    ...kind.selectableFields,
  ];
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', selectable, kind.fieldText);
  const limit = parseLimit(query);
  const timeout = integer(query, 'timeoutSeconds') ?? 0;
  const errors = mode === 'watch' ? watchErrors(query) : listErrors(query);
  if (errors.length > 0) throw invalidOptions('ListOptions', errors);
  const resourceVersion = parseResourceVersion(query);
  const continueToken = query.get('continue') ?? '';
  if (mode === 'list' && continueToken !== '' && (resourceVersion ?? 0) !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return {
    labels,
    fields,
    limit,
    continueToken,
    resourceVersion,
    match: (query.get('resourceVersionMatch') || undefined) as VersionMatch | undefined,
    allowBookmarks: queryFlag(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: queryFlag(query, 'sendInitialEvents'),
    timeoutSeconds: timeout > 0 ? timeout : undefined,
  };
}

/** Undefined: absent. Throws 400 for an invalid version. */
export function parseResourceVersion(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  const version = /^\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(version)) {
    throw badRequest(`invalid resource version: ${JSON.stringify(text.slice(0, 64))}`);
  }
  return version;
}

/** 0: no limit. Throws 400 for anything but a number. */
export function parseLimit(query: URLSearchParams): number {
  return Math.max(integer(query, 'limit') ?? 0, 0);
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^[-+]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw badRequest(`${name}: ${JSON.stringify(text.slice(0, 64))} is not an integer`);
  }
  return value;
}

const MATCH = ['resourceVersionMatch'];

function listErrors(query: URLSearchParams): FieldError[] {
  const errors: FieldError[] = [];
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  if (match !== '') {
    if (version === '') {
      errors.push(
        forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      );
    }
    errors.push(...continueErrors(query));
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(notSupported(MATCH, match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && version === '0') {
      errors.push(
        forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      );
    }
  }
  if (query.has('sendInitialEvents')) {
    errors.push(forbidden(['sendInitialEvents'], 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors(query: URLSearchParams): FieldError[] {
  const errors: FieldError[] = [];
  const match = query.get('resourceVersionMatch') ?? '';
  const wantsInitial = query.has('sendInitialEvents');
  if (wantsInitial && match !== 'NotOlderThan') {
    errors.push(
      forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  if (match === '') return errors;
  if (!wantsInitial) {
    errors.push(
      forbidden(
        MATCH,
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['NotOlderThan']));
  return [...errors, ...continueErrors(query)];
}

function continueErrors(query: URLSearchParams): FieldError[] {
  return (query.get('continue') ?? '') === ''
    ? []
    : [forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided')];
}
