/** GET of `tenants/<name>/sync`: state of the endpoint sync per object of a tenant. */
import { notFound } from '../../apimachinery/index.ts';
import { apiVersionOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';
import { encodeDocument } from '../output/representation.ts';
import type { ResourceRequest } from '../request.ts';
import { answerForm, targetOf } from './shared.ts';

export async function handleTenantSync(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const { kind, info } = request;
  const form = answerForm(deps, request, 'object');
  const { object } = deps.registry.get(targetOf(request));
  const items = deps.tenants.states(info.name);
  if (items === undefined) throw notFound({ ...kind, plural: `${kind.plural}/sync` }, info.name);
  const document = {
    kind: 'TenantSync',
    apiVersion: apiVersionOf(kind),
    metadata: { name: info.name, uid: object.metadata.uid },
    items,
  };
  return { code: 200, ...encodeDocument(document, form) };
}
