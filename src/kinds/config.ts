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

/** The version that is running stands in the status, whatever the text says. */
function withVersion(status: JsonObject): JsonObject {
  const { uiSettings } = status;
  const look = isRecord(uiSettings) ? (uiSettings as JsonObject) : {};
  return { ...status, uiSettings: { ...look, platformVersion: VERSION } };
}

/** Whoever writes through the API knows the text, and no file. */
function placedInRaw(problem: FieldError): FieldError {
  if (problem.at === undefined) return problem;
  const { line, col } = problem.at;
  return { ...problem, message: `${problem.message} (line ${line}, column ${col} of spec.raw)` };
}

/** A configuration without secrets stays readable: people review it. */
function holdsSecret(raw: string): boolean {
  const { status, problems } = parseConfigRaw(raw);
  // What cannot be read is judged by its looks.
  if (problems.length > 0) return LOOKS_SECRET.test(plainConfigText(raw));
  return SECRETS.some((path) => hasValue({ status }, path));
}

const SECRETS = secretPathsOf('config').filter(([first]) => first === 'status');

const SECRET_FIELDS = new Set(SECRETS.map((path) => path.findLast((step) => step !== '*')));

/** A field that holds a secret, with a value that does not name a variable. */
const LOOKS_SECRET = new RegExp(
  String.raw`\b(?:${[...SECRET_FIELDS].join('|')})["']?\s*:\s*(?!["']?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})["']?\s*(?:[#,}]|$))["']?[^\s"'#]`,
  'm',
);

/** What names a variable of the environment is no secret itself. */
function hasValue(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) {
    const text = String(value ?? '');
    return text !== '' && namedVariable(text) === undefined;
  }
  if (typeof value !== 'object' || value === null) return false;
  if (step === '*') return Object.values(value).some((item) => hasValue(item, rest));
  return Object.hasOwn(value, step) && hasValue((value as Record<string, unknown>)[step], rest);
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
