/** Config: the platform configuration (spec section 2.8). `spec.raw` is written, `status` is read. */
import { type KubeObject, valueAt } from '../apimachinery/object.ts';
import { AGE, textAt } from './columns.ts';
import { parseConfigRaw, plainConfigText } from './config-raw.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema-files.ts';

const deprecated = deprecations([]);

export function config(group: string): Kind {
  return defineKind({
    group,
    kind: 'Config',
    // As the paths of spec section 4.5 have it; the regular plural answers as well.
    plural: 'config',
    singular: 'config',
    aliases: ['configs'],
    categories: ['all', 'gitplane'],
    scope: 'Cluster',
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    schema: 'config',
    lockedBy: 'disableConfigEndpoint',
    governsAccess: true,
    columns: [
      {
        name: 'Platform Host',
        type: 'string',
        description: 'Host name of the platform.',
        value: (object) => textAt(object, ['status', 'platformHost']),
      },
      AGE,
    ],
    secretPaths: secretPathsOf('config'),
    canonicalize: writePlain,
    setDefaults: writePlain,
    validate: (object) => parseConfigRaw(rawOf(object)).problems,
    warnings: (object) => [
      ...deprecated(object),
      ...parseConfigRaw(rawOf(object)).warnings.map((text) => `spec.raw: ${text}`),
    ],
    deriveStatus: (object) => structuredClone(parseConfigRaw(rawOf(object)).status),
  });
}

/** People read and review this text, so base64 does not stay. */
function writePlain(object: KubeObject): void {
  if (object.spec === undefined || rawOf(object) === '') return;
  object.spec['raw'] = plainConfigText(rawOf(object));
}

function rawOf(object: KubeObject): string {
  const raw = valueAt(object, ['spec', 'raw']);
  return typeof raw === 'string' ? raw : '';
}
