/** `atRevision` and `atTime`: reads of the past. */
import { badRequest } from '../../apimachinery/index.ts';
import { checkRevision, checkTime, type Past } from '../../history/index.ts';

export const PAST_PARAMETERS = ['atRevision', 'atTime'] as const;

/** Undefined: the present. Throws 400 for syntax errors and for both at once. */
export function parsePast(query: URLSearchParams): Past | undefined {
  const revision = query.get('atRevision');
  const time = query.get('atTime');
  if (revision === null && time === null) return undefined;
  if (revision !== null && time !== null) {
    throw badRequest('atRevision and atTime say the same thing in two ways: give one of them');
  }
  if ((query.get('resourceVersion') ?? '') !== '') {
    throw badRequest(
      'resourceVersion is a version of the present: it does not go with atRevision and atTime',
    );
  }
  return revision === null
    ? { time: checkTime(time ?? '') }
    : { revision: checkRevision(revision) };
}

/** Throws 400 if a request other than a read of objects names the past. */
export function refusePast(query: URLSearchParams, verb: string): void {
  const given = PAST_PARAMETERS.find((name) => query.has(name));
  if (given === undefined) return;
  const reads = verb === 'get' || verb === 'list';
  const past = reads ? 'what is not in git has no past' : 'the past cannot be changed';
  const what = verb === 'watch' ? 'nothing happens in the past' : past;
  throw badRequest(`${given} is for get and list; ${what}`);
}
