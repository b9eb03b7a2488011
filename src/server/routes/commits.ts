/**
 * GET `/commits`: the commits of the branch, newest first; with `team`, those that changed the team or what it
 * owns. It takes the right to clone, which shows the same.
 */
import { badRequest, expired, noSuchRoute } from '../../apimachinery/index.ts';
import { mapLimit } from '../../concurrency/index.ts';
import type { BranchCommit } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { formatPosition, parsePosition } from '../input/continue-token.ts';
import { parseLimit } from '../input/list-options.ts';
import { parsePast } from '../input/past.ts';
import type { Answer } from '../output/answer.ts';
import { commitTime, subjectOf } from '../output/commit-fields.ts';
import { negotiate } from '../output/negotiation.ts';
import { encodeDocument } from '../output/representation.ts';
import { COMMITS_PATH } from '../paths.ts';
import { type ApiRequest, header } from '../request.ts';
import { type OwnerIndex, ownedBy, ownerIndex } from './team-objects.ts';

const USUAL = 50;
const MOST = 500;
const READ_AT_ONCE = 8;
const LONGEST_MESSAGE = 4096;

/** Undefined for other paths. */
export function commitsRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const owners = ownerIndex(deps);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== COMMITS_PATH) return undefined;
    if (verb !== 'get' && verb !== 'head') throw noSuchRoute();
    return answerCommits(deps, owners, request);
  };
}

async function answerCommits(
  deps: ServerDependencies,
  owners: OwnerIndex,
  request: ApiRequest,
): Promise<Answer> {
  const { query } = request.info;
  const accept = header(request, 'accept');
  const form = negotiate({ accept, userAgent: header(request, 'user-agent'), query }, 'object');
  const asked = parseLimit(query);
  const limit = asked === 0 ? USUAL : Math.min(asked, MOST);
  const token = query.get('continue') ?? '';
  const after = token === '' ? undefined : parsePosition(token);
  const past = parsePast(query);
  if (after !== undefined && past !== undefined) {
    throw badRequest('continue goes on from a page: it does not go with atRevision and atTime');
  }
  const team = query.get('team') ?? '';
  const of = team === '' ? undefined : await ownedBy(deps, owners, team);
  const page = await deps.history.commits({ limit, after, past, of });
  if (page === undefined) {
    throw expired('The history was rewritten meanwhile; begin without continue.');
  }
  const described = await mapLimit(page.commits, READ_AT_ONCE, (commit) => describe(deps, commit));
  const signatures = await deps.signatures.of(page.commits.map(({ revision }) => revision));
  const items = described.map((item, at) => ({ ...item, signature: signatures[at] }));
  const last = page.commits.at(-1);
  const metadata =
    page.hasMore && last !== undefined ? { continue: formatPosition(last.revision) } : {};
  const document = {
    kind: 'CommitList',
    apiVersion: `${deps.kinds.groups[0]}/v1`,
    metadata,
    items,
  };
  return { code: 200, ...encodeDocument(document, form) };
}

async function describe(deps: ServerDependencies, commit: BranchCommit): Promise<object> {
  const { revision, time, files, fileCount } = commit;
  const { author, message, parents } = await deps.history.describeCommit(revision);
  return {
    revision,
    parents,
    time: commitTime(time),
    author,
    subject: subjectOf(message),
    message: message.slice(0, LONGEST_MESSAGE),
    files: files.map(({ objects, ...file }) => ({
      ...file,
      objects: objects.map(({ group, kind, namespace, name }) => {
        const known = deps.kinds.kinds.find((one) => one.group === group && one.kind === kind);
        return {
          group,
          kind,
          ...(known === undefined ? {} : { plural: known.plural }),
          ...(namespace === '' ? {} : { namespace }),
          name,
        };
      }),
    })),
    fileCount,
  };
}
