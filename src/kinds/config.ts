/** Config: the platform configuration (spec section 2.8). `spec.raw` is written, `status` is read. */
import {
  type FieldError,
  isRecord,
  type JsonObject,
  type KubeObject,
  valueAt,
} from '../apimachinery/index.ts';
import { VERSION } from '../version.ts';
import { AGE, textFrom } from './columns.ts';
import { withoutConfigSecrets } from './config/config-masking.ts';
import { parseConfigRaw, plainConfigText } from './config/config-raw.ts';
import { namedVariable } from './config/environment-references.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';

const deprecated = deprecations([]);

export function config(group: string): Kind {
  return defineKind({
    group,
    kind: 'Config',
    // Plural of the paths in spec section 4.5. The regular plural is an alias.
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
        ...textFrom(['status', 'platformHost']),
      },
      AGE,
    ],
    secretPaths: secretPathsOf('config'),
    forReaders: (object) => withoutConfigSecrets(object, holdsSecret),
    holdsSecret: (_, value) => typeof value !== 'string' || holdsSecret(value),
    canonicalize: writePlain,
    setDefaults: writePlain,
    validate: (object) => parseConfigRaw(rawOf(object)).problems.map(placedInRaw),
    warnings: (object) => [
      ...deprecated(object),
      ...parseConfigRaw(rawOf(object)).warnings.map((text) => `spec.raw: ${text}`),
    ],
    deriveStatus: (object) => withVersion(structuredClone(parseConfigRaw(rawOf(object)).status)),
  });
}

/** Status with the running version, whatever the text says. */
function withVersion(status: JsonObject): JsonObject {
  const { uiSettings } = status;
  const settings = isRecord(uiSettings) ? uiSettings : {};
  return { ...status, uiSettings: { ...settings, platformVersion: VERSION } };
}

/** Adds the position in the text to the message: a client of the API sees no file. */
function placedInRaw(problem: FieldError): FieldError {
  if (problem.at === undefined) return problem;
  const { line, col } = problem.at;
  return { ...problem, message: `${problem.message} (line ${line}, column ${col} of spec.raw)` };
}

/** A configuration without secrets is stored in plain text, so that people can review it. */
function holdsSecret(raw: string): boolean {
  const { status, problems } = parseConfigRaw(raw);
  // A text that does not parse is searched for fields of secrets.
  if (problems.length > 0) return LOOKS_SECRET.test(plainConfigText(raw));
  return SECRETS.some((path) => hasValue({ status }, path));
}

const SECRETS = secretPathsOf('config').filter(([first]) => first === 'status');

const SECRET_FIELDS = new Set(SECRETS.map((path) => path.findLast((step) => step !== '*')));

/** A field of a secret whose value is not a reference to a variable. */
const LOOKS_SECRET = new RegExp(
  String.raw`\b(?:${[...SECRET_FIELDS].join('|')})["']?\s*:\s*(?!["']?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})["']?\s*(?:[#,}]|$))["']?[^\s"'#]`,
  'm',
);

/** True if there is a value at the path. A reference to an environment variable is not a secret. */
function hasValue(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) {
    const text = String(value ?? '');
    return text !== '' && namedVariable(text) === undefined;
  }
  if (typeof value !== 'object' || value === null) return false;
  if (step === '*') return Object.values(value).some((item) => hasValue(item, rest));
  return hasValue(valueAt(value, [step]), rest);
}

/** Replaces base64 by plain text, because people read and review it. */
function writePlain(object: KubeObject): void {
  if (object.spec === undefined || rawOf(object) === '') return;
  object.spec['raw'] = plainConfigText(rawOf(object));
}

function rawOf(object: KubeObject): string {
  const raw = valueAt(object, ['spec', 'raw']);
  return typeof raw === 'string' ? raw : '';
}
