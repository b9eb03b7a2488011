/** Classes of pairs that are told apart by what was asked: their answers cannot be compared. */

import { JSON_PATCH } from '../api/case.ts';
import {
  accept,
  all,
  any,
  type Class,
  codes,
  method,
  type Pair,
  path,
  sent,
  theySay,
  weSay,
  whole,
} from './class.ts';
import type { Body } from './objects.ts';

const isDocument = path(/^\/(apis?|openapi|version|healthz|livez|readyz|nothing)(\/[^/]*){0,2}$/);
const isNamespace = path(/^\/api\/v1\/namespaces\/[^/]+$/);
const isOurs = path(/^\/apis\/management/);
const isReview = path(/reviews(\?|$)/);
const hasNoValidation = path(/fieldValidation=(&|$)|^(?!.*fieldValidation=)/);
const isNotJson = ({ theirs }: Pair): boolean =>
  !String(theirs.headers?.['content-type']).includes('json');

const lacks =
  (field: string) =>
  ({ asked: { body, type } }: Pair): boolean =>
    type !== 'application/apply-patch+yaml' &&
    (typeof body === 'object' ? ((body as Body)?.[field] ?? '') === '' : body === '{}');

/** In this order: the first that fits takes the whole pair. */
export const REQUEST_CLASSES: readonly Class[] = [
  whole(
    'Protobuf is read, and not written',
    all(
      accept(/protobuf/),
      any(isNotJson, ({ ours }) => ours.code === 406),
    ),
  ),
  whole('Namespaces are where something is', isNamespace),
  whole('Documents are public, and are read alone', any(method('HEAD'), method('OPTIONS'))),
  whole('Documents are public, and are read alone', all(isDocument, codes(/401/, /200|404|406/))),
  whole('Documents are public, and are read alone', all(isDocument, codes(/200|405/, /405|406/))),
  whole('Discovery lists what is served here', all(isDocument, codes(/200|406/, /200/))),
  whole('Status is read', path(/\/status$/)),
  whole('Errors name their method and their path', codes(/4../, /405/)),
  whole('Errors name their method and their path', all(method('POST'), codes(/201/, /405/))),
  whole(
    'Errors name their method and their path',
    all(codes(/404/, /404|406/), any(isNotJson, path(/\/\/|\/(unknown|scale)$/))),
  ),
  whole('Mistakes of the client are 4xx', codes(/^(500|0)$/, /4../)),
  whole(
    'A status in a write is left out',
    any(theySay(/ \.status: /), all(sent(/"status":/), codes(/2../, /2../))),
  ),
  whole(
    'A body is one whole document',
    any(
      all(codes(/20./, /400/), weSay(/not valid (UTF-8|YAML)|patch must be a map/)),
      all(codes(/422/, /400/), sent(/^null$/)),
    ),
  ),
  whole(
    'An integer beyond 2^53 is refused',
    all(sent(/9007199254740993/), weSay(/too large to be kept/)),
  ),
  whole(
    '`kind` and `apiVersion` may be left out',
    any(
      all(codes(/400/, /200|201|404|409|422/), any(lacks('kind'), lacks('apiVersion'))),
      all(codes(/500/, /200/), sent(/"(kind|apiVersion)":null/)),
    ),
  ),
  whole(
    'Unknown fields are refused when the client says nothing',
    all(hasNoValidation, weSay(/strict decoding error/)),
  ),
  whole('PUT never creates objects of the platform', all(method('PUT'), codes(/201/, /404/))),
  whole(
    'PUT without `resourceVersion` depends on the kind',
    all(codes(/422/, /200/), theySay(/must be specified for an update/)),
  ),
  whole(
    'JSON patches are those of RFC 6902',
    all(
      ({ asked }) => asked.type === JSON_PATCH,
      any(
        all(codes(/200|201|422/, /422|400/), weSay(/operation \d+ /)),
        all(codes(/422/, /400/), sent(/"path":""/)),
      ),
    ),
  ),
  whole(
    '`Accept` is judged alike for all kinds',
    any(
      all(accept(/\*|as=Table|q=/), theySay(/NotAcceptable/)),
      all(accept(/MetadataList/), codes(/20./, /406/)),
    ),
  ),
  whole(
    'Reviews are answered as they are asked',
    all(
      isReview,
      codes(/201/, /201|422/),
      any(accept(/as=Table/), path(/rulesreviews/), weSay(/selector operator/)),
    ),
  ),
  whole('Kinds of the platform have rules beyond their schema', all(isOurs, codes(/20./, /422/))),
  whole(
    'Policies of a deletion act at once',
    all(method('DELETE'), codes(/200/, /200/), policyIsSent),
  ),
  whole(
    'Metadata is of its schema',
    any(
      all(
        codes(/20.|422/, /400|422/),
        weSay(/metadata\.(annotations|labels|managedFields|generation)|item of a list has no key/),
      ),
      all(codes(/500/, /20./), theySay(/metadata\.\w+: field not declared in schema/)),
    ),
  ),
  whole(
    'An apply with a version changes what is there',
    all(method('PATCH'), codes(/201/, /400/), weSay(/resourceVersion should not be set/)),
  ),
  whole(
    'A record of managers that cannot be kept changes nothing',
    all(codes(/422/, /20./), sent(/"managedFields"/)),
  ),
  whole('What only the server writes is wiped', all(codes(/422/, /20./), sent(/"generation":-1/))),
  whole('Of several mistakes one is named', ({ theirs, ours }) => {
    const [their, our] = [mistakeOf(theirs), mistakeOf(ours)];
    return their !== undefined && our !== undefined && their !== our;
  }),
];

function policyIsSent({ asked: { path, body } }: Pair): boolean {
  return /propagationPolicy|orphanDependents|gracePeriod/.test(`${path} ${JSON.stringify(body)}`);
}

const SELECTORS = /selector|field label|requirement|expected: |label/i;
const OPTIONS = /limit|continue|timeout|resource ?version|time:/i;

/** Part of a request that an answer complains of. */
function mistakeOf({ code, body }: Pair['theirs']): string | undefined {
  const { details, message = '' } = (body ?? {}) as Body;
  switch (code) {
    case 404:
      return 'object';
    case 406:
      return 'accept';
    case 409:
      return 'state';
    case 413:
    case 415:
      return 'content type';
    case 422:
      return /Options$/.test(details?.kind ?? '') ? 'options' : 'content';
    case 400:
      if (SELECTORS.test(message)) return 'selectors';
      return OPTIONS.test(message) ? 'values of options' : 'content';
    default:
      return undefined;
  }
}
