/** Questions about access in the query of a URL. */
import { type Attributes, badRequest } from '../../apimachinery/index.ts';
import { askedAttributes } from '../../auth/index.ts';
import type { ServerDependencies } from '../dependencies.ts';

const SUBJECTS = ['user', 'team', 'key'] as const;
const ATTRIBUTES = ['verb', 'group', 'resource', 'namespace', 'name', 'path'] as const;
const LONGEST = 253;

/** The user, team or key that a question is about. */
export interface AskedAs {
  readonly kind: (typeof SUBJECTS)[number];
  readonly name: string;
}

/** Undefined: the caller. Throws 400. */
export function askedAs(query: URLSearchParams): AskedAs | undefined {
  const found = SUBJECTS.flatMap((kind) => {
    const name = query.get(kind);
    return name === null ? [] : [{ kind, name }];
  });
  const [first, ...others] = found;
  if (others.length > 0) throw badRequest(`give one of ${SUBJECTS.join(', ')}`);
  if (first?.name === '') throw badRequest(`${first.kind}: a name is required`);
  return first;
}

/**
 * `verb=get&resource=teams&name=ops` or `verb=get&path=/sync`. The resource may have a subresource
 * (`teams/status`); without `group` it is the one of the first kind with this plural. Throws 400.
 */
export function askedAccess(
  { kinds }: Pick<ServerDependencies, 'kinds'>,
  query: URLSearchParams,
): Attributes {
  const known: readonly string[] = [...ATTRIBUTES, ...SUBJECTS, 'pretty'];
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw badRequest(`unknown parameter ${JSON.stringify(unknown)}; use ${known.join(', ')}`);
  }
  const of = (name: (typeof ATTRIBUTES)[number]): string => query.get(name) ?? '';
  for (const name of ATTRIBUTES) {
    if (of(name).length > LONGEST) throw badRequest(`${name}: at most ${LONGEST} characters`);
  }
  const verb = of('verb');
  if (verb === '') throw badRequest('verb: required, as in get, list, update or *');
  const path = of('path');
  const [resource = '', subresource = ''] = of('resource').split('/');
  if ((path === '') === (resource === '')) throw badRequest('give one of resource and path');
  if (path !== '') return { verb, path };
  const [first = ''] = kinds.groups;
  const found = kinds.groups.find((one) => kinds.byPlural(one, resource) !== undefined);
  const group = query.get('group') ?? found ?? first;
  const canonical = (in_: string, plural: string): string =>
    kinds.byPlural(in_, plural)?.plural ?? plural;
  const attributes = {
    verb,
    group,
    resource,
    subresource,
    namespace: of('namespace'),
    name: of('name'),
  };
  const asked = askedAttributes({ resourceAttributes: attributes }, canonical);
  if ('errors' in asked) throw badRequest('the question cannot be read');
  return asked.attributes;
}
