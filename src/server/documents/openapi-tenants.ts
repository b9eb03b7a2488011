/** Subresources of the kinds, and the schemas of those of a tenant: sync state and preview of patches. */
import type { JsonObject } from '../../apimachinery/index.ts';
import { hasStatus, type Kind } from '../../kinds/index.ts';
import { text } from './http-api/schema-parts.ts';
import { SOURCE, SOURCE_WRITE, SUBRESOURCES, type Subresource } from './openapi-history.ts';

/** Subresources of a kind. */
export function subresourcesOf(
  kind: Pick<Kind, 'storedIn' | 'kind' | 'schema'>,
): readonly Subresource[] {
  const { storedIn } = kind;
  const more = { git: SUBRESOURCES, file: SUBRESOURCES_OF_FILES, cluster: [], nowhere: [] };
  return storedIn !== 'nowhere' && hasStatus(kind)
    ? [statusOf(kind.kind), ...more[storedIn]]
    : more[storedIn];
}

/** Answers with the whole object, as Kubernetes does. */
function statusOf(kind: string): Subresource {
  return {
    name: 'status',
    kind,
    verb: 'get',
    words: () => `read status of the specified ${kind}`,
    schemas: () => ({}),
  };
}

const SUBRESOURCES_OF_FILES: readonly Subresource[] = [
  SOURCE,
  SOURCE_WRITE,
  {
    name: 'sync',
    kind: 'TenantSync',
    verb: 'get',
    words: (kind) => `read how far the sync of each object of the specified ${kind} is`,
    schemas: () => ({ TenantSync: SYNC }),
  },
  {
    name: 'patches:preview',
    kind: 'PatchesPreviewRequest',
    verb: 'create',
    answer: 'PatchesPreview',
    words: (kind) =>
      `show what Endpoints and Services would become by the patches of the specified ${kind}`,
    schemas: () => ({ PatchesPreviewRequest: REQUEST, PatchesPreview: PREVIEW }),
  },
];

const listOf = (description: string, items: JsonObject): JsonObject => ({
  ...{ type: 'array', description },
  items,
});
const fields = (
  description: string,
  properties: JsonObject,
  required: string[] = [],
): JsonObject => ({
  ...{ type: 'object', description, properties },
  ...(required.length === 0 ? {} : { required }),
});
/** Objects without a detailed schema: Endpoints and Services of `v1`, and reports. */
const anything = (description: string): JsonObject => ({
  ...{ type: 'object', description },
  'x-kubernetes-preserve-unknown-fields': true,
});

const HEAD: JsonObject = {
  apiVersion: text('Group and version, as in management.gitplane.dev/v1.'),
  kind: text('Kind of the object.'),
};
const NAMED = fields('Which tenant.', {
  name: text('Name of the tenant.'),
  uid: text('Of the tenant.'),
});
const PLACE = (description: string): JsonObject =>
  fields(description, { namespace: text('Its namespace.'), name: text('Its name.') }, [
    'namespace',
    'name',
  ]);

const SYNC = fields(
  'State of the sync of each object of a tenant.',
  {
    ...HEAD,
    metadata: NAMED,
    items: listOf(
      'Endpoints, then Services, each in order of namespace and name.',
      fields(
        'An object of the tenant cluster.',
        {
          kind: { ...text('Its kind.'), enum: ['Endpoints', 'Service'] },
          source: PLACE('Place in the tenant cluster.'),
          target: PLACE('Where it is on the control-plane cluster.'),
          state: {
            ...text('How far it is.'),
            enum: ['Synced', 'Skipped', 'Stale', 'Failed'],
          },
          reason: text('Why it is not Synced, in a word.'),
          message: text('Why it is not Synced.'),
          since: { ...text('Since when it is in this state (RFC 3339).'), format: 'date-time' },
        },
        ['kind', 'source', 'target', 'state', 'since'],
      ),
    ),
  },
  ['items'],
);

const REQUEST = fields(
  'Endpoints and Services to try patches on. Nothing is written.',
  {
    ...HEAD,
    objects: listOf(
      'Endpoints and Services as they are in the tenant cluster, 1 to 100.',
      anything('Endpoints where no kind is given.'),
    ),
    config: anything('A vcluster.yaml to try instead of that of the tenant.'),
    direction: {
      ...text('reverse: the objects are those of the control-plane cluster, and flow back.'),
      enum: ['forward', 'reverse'],
    },
  },
  ['objects'],
);

const PREVIEW = fields(
  'Endpoints and Services as the control-plane cluster would get them.',
  {
    ...HEAD,
    metadata: NAMED,
    items: listOf(
      'In the order of the objects.',
      fields(
        'One of the objects.',
        {
          before: anything('Translated, before the patches.'),
          after: anything('After them. Absent: a patch failed, and nothing would be written.'),
          patch: anything(
            'From `before` to `after`, as a JSON Patch (RFC 6902). Absent: it is too long.',
          ),
          report: anything('Report of each patch: its matches, its input and its output.'),
          roundTrip: listOf(
            'Values that a pair of expressions does not bring back.',
            anything('The place, and the value before, there and back.'),
          ),
        },
        ['before', 'report'],
      ),
    ),
  },
  ['items'],
);
