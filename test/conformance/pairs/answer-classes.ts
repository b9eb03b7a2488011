/** Classes of pairs that differ in some fields of their answers. */
import { accept, all, type Class, codes, eachObject, part, path, sent } from './class.ts';
import type { Body } from './objects.ts';

const isReview = path(/reviews(\?|$)/);
const SERVER_FIELDS = [
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
].flatMap((field) => [field, `f:${field}`]);
const isSuccess = codes(/2../, /2../);
const isFailure = codes(/4../, /4../);

export const ANSWER_CLASSES: readonly Class[] = [
  part(
    'An empty list is `[]`',
    ({ theirs, ours }) => {
      if (JSON.stringify(ours ?? '').includes('"rules":[]')) {
        eachObject(theirs, (object) => {
          if (object.rules === null) object.rules = [];
        });
      }
      for (const field of ['items', 'rows']) if (theirs?.[field] === null) theirs[field] = [];
    },
    isSuccess,
  ),
  part(
    'A record of managers that cannot be kept changes nothing',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) delete body?.metadata?.managedFields;
    },
    all(isSuccess, sent(/"managedFields"/)),
  ),
  part(
    'Items of a list say their kind',
    ({ theirs, ours }) => {
      for (const [index, item] of Object.entries<Body>(ours?.items ?? {})) {
        if (theirs?.items?.[index]?.kind !== undefined) continue;
        delete item.kind;
        delete item.apiVersion;
      }
    },
    isSuccess,
  ),
  {
    heading: '`generateName` is not kept',
    settle: (pair) => {
      if (!sent(/generateName/)(pair) || !codes(/409/, /409/)(pair)) return pair;
      const { headers = {}, body, code }: Body = structuredClone(pair.theirs);
      delete body?.details?.retryAfterSeconds;
      delete headers['retry-after'];
      return { ...pair, theirs: { code, headers, body } };
    },
  },
  part(
    '`generateName` is not kept',
    ({ theirs, ours }) => {
      eachObject([theirs, ours], (object) => {
        delete object.generateName;
        delete object['f:generateName'];
      });
    },
    all(isSuccess, sent(/generateName/)),
  ),
  part(
    'What only the server writes is wiped',
    (bodies) => {
      eachObject(bodies, (object) => {
        for (const field of SERVER_FIELDS) delete object[field];
      });
    },
    all(isSuccess, sent(/"(deletion\w+|generation|selfLink)"/)),
  ),
  part(
    'A dry run has no version of its own',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) delete body?.metadata?.resourceVersion;
    },
    all(codes(/201/, /201/), path(/dryRun=All/)),
  ),
  part(
    'Reviews are answered as they are asked',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) {
        delete body?.metadata?.managedFields;
        delete body?.metadata?.creationTimestamp;
        eachObject(body, (object) => {
          if (object.group === '') delete object.group;
          delete object.extra;
          delete object.evaluationError;
        });
        const { status } = body ?? {};
        if (status?.authenticated === false) delete status.authenticated;
        for (const field of ['error', 'audiences']) delete status?.[field];
        if (JSON.stringify(status?.user) === '{}') delete status.user;
      }
    },
    all(isReview, isSuccess),
  ),
  part(
    'Tables have columns of their own',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) {
        delete body?.columnDefinitions;
        for (const row of body?.rows ?? []) delete row.cells;
      }
    },
    all(isSuccess, accept(/as=Table/)),
  ),
  part(
    'A list knows its last page',
    ({ theirs, ours }) => {
      if (ours?.metadata?.continue === undefined) delete theirs?.metadata?.continue;
      if (ours?.metadata?.continue === undefined) delete theirs?.metadata?.remainingItemCount;
    },
    all(isSuccess, path(/limit=\d/)),
  ),
  part(
    'Bookmarks hold a version alone',
    (bodies) => {
      for (const side of ['theirs', 'ours'] as const) {
        if (!Array.isArray(bodies[side])) continue;
        bodies[side] = bodies[side].filter(({ type }: Body) => type !== 'BOOKMARK');
      }
    },
    all(isSuccess, path(/allowWatchBookmarks/)),
  ),
  part(
    'A watch starts from memory',
    (bodies) => {
      if (JSON.stringify(bodies.ours ?? '').includes('too old resource version')) {
        bodies.theirs = bodies.ours;
      }
    },
    all(isSuccess, path(/watch=true/)),
  ),
  part(
    'Errors name the field, and the object',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) {
        const { details } = body ?? {};
        if (details === undefined) continue;
        for (const key of ['name', 'group', 'kind', 'uid', 'causes']) delete details[key];
        if (Object.keys(details).length === 0) delete body.details;
      }
    },
    isFailure,
  ),
  part(
    'Texts of errors and warnings are our own',
    ({ theirs, ours }) => {
      for (const body of [theirs, ours]) eachObject(body, (object) => delete object.message);
    },
    isFailure,
  ),
  {
    heading: 'Texts of errors and warnings are our own',
    settle: ({ theirs, ours, ...rest }) => {
      if (theirs.headers?.['warning'] === ours.headers?.['warning'])
        return { theirs, ours, ...rest };
      const [one, other] = [theirs, ours].map(({ headers = {}, ...verdict }) => {
        const { warning: _words, ...named } = headers;
        return { ...verdict, headers: named };
      });
      return { ...rest, theirs: one ?? theirs, ours: other ?? ours };
    },
  },
];
