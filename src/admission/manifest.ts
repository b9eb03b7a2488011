/** Turns a document of a file into an object with an identity, or into problems with positions. */
import {
  asKubeObject,
  type FieldError,
  formatPath,
  isRecord,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  SERVER_POPULATED_META,
  valueAt,
} from '../apimachinery/index.ts';
import {
  apiVersionOf,
  besideSecrets,
  type FileClaim,
  type Kind,
  type KindTable,
} from '../kinds/index.ts';
import type { ManifestDocument } from '../manifests/index.ts';
import { objectProblems, objectWarnings } from './check.ts';
import { type AdmittedManifest, NOTHING, Report, type SealedParts } from './manifest-report.ts';

/** Position of a document, and what it implies. */
export interface ManifestPlace {
  readonly path: string;
  /** Namespace that the folder implies, if any. */
  readonly folderNamespace: string | undefined;
  /** The path alone determines the object, and the file is its spec. */
  readonly claim?: FileClaim | undefined;
  /** Skips the search for plaintext secrets. */
  readonly ignoresClear?: boolean;
}

/** Sources of objects that have no manifests. */
const ELSEWHERE: Readonly<Record<Exclude<Kind['storedIn'], 'git'>, string>> = {
  nowhere: 'are made through the API and never kept in git',
  cluster: 'are kept in clusters and not in git',
  file: 'are written as files of their own and not as manifests; see the documentation of the kind',
};

/** `sealed` absent: the file is not encrypted. */
export function admitManifest(
  kinds: KindTable,
  place: ManifestPlace,
  document: ManifestDocument,
  sealed?: SealedParts,
): AdmittedManifest {
  const { claim } = place;
  const syntax = document.problems.map((problem) => ({ path: place.path, ...problem }));
  if (syntax.length > 0) return { ...NOTHING, key: claim && keyOf(claim), problems: syntax };
  if (claim !== undefined) return admitClaimed(kinds, { claim, place, sealed }, document);
  const report = new Report(place.path, document);
  const value = document.value;
  if (!isRecord(value)) {
    report.at([], 'Expected an object with apiVersion, kind and metadata');
    return report.refuse(undefined);
  }
  const kind = findKind(kinds, value, report);
  if (kind === undefined) return report.refuse(undefined);
  const json = sealed === undefined && isAsServed(kind, value, place) ? document.json : undefined;
  const manifest = json === undefined ? cleanManifest(value) : asKubeObject(value);
  if (json === undefined) {
    kinds.schemaOf(kind).dropNulls(manifest);
    warnIgnoredFields(kind, value, report);
    placeInNamespace({ kind, manifest, place, report });
  }
  const key = identityOf(kind, manifest);
  if (place.ignoresClear !== true) report.clear(kind, manifest, sealed);
  report.comments(sealed);
  const encrypted = sealed && besideSecrets(kind, sealed.paths);
  if (sealed?.unreadable === true) return report.partial(key, manifest, { sealed, encrypted });
  report.sealed(sealed);
  if (report.failed) return report.refuse(key);
  const errors = objectProblems(kind, kinds.schemaOf(kind), { object: manifest });
  report.fields([...secretInClear(kind, manifest), ...errors], { object: manifest, sealed });
  if (report.failed) return report.refuse(key);
  // Runs last: deprecation checks need an object of valid shape.
  report.warnAll(objectWarnings(kind, manifest), manifest, sealed);
  return report.admit(key, manifest, { json, encrypted });
}

function findKind(
  kinds: KindTable,
  value: Record<string, unknown>,
  report: Report,
): Kind | undefined {
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== 'string' || apiVersion === '') {
    report.at(['apiVersion'], 'apiVersion: Required value');
  }
  if (typeof kind !== 'string' || kind === '') report.at(['kind'], 'kind: Required value');
  if (report.failed || typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  const found = kinds.byKind(apiVersion, kind);
  if (found === undefined) {
    const foreign = !kinds.groups.includes(apiVersion.split('/')[0] ?? '');
    const field = foreign ? 'apiVersion' : 'kind';
    const remedy = foreign
      ? '; list the file in .gitplaneignore if it belongs to another tool'
      : '';
    report.at([field], `${field}: ${kinds.explainUnknown(apiVersion, kind)}${remedy}`);
  } else if (found.storedIn !== 'git') {
    report.at(['kind'], `kind: Forbidden: ${found.kind} objects ${ELSEWHERE[found.storedIn]}`);
    return undefined;
  }
  return found;
}

/** True if serving the manifest needs no removed or added fields. */
function isAsServed(
  kind: Kind,
  { status, metadata }: Record<string, unknown>,
  { folderNamespace }: ManifestPlace,
): boolean {
  if (status !== undefined || !isRecord(metadata) || typeof metadata['name'] !== 'string') {
    return false;
  }
  for (const field of SERVER_POPULATED_META) if (metadata[field] !== undefined) return false;
  if (kind.scope === 'Cluster') return true;
  const { namespace } = metadata;
  if (typeof namespace !== 'string' || namespace === '') return false;
  return folderNamespace === undefined || folderNamespace === namespace;
}

/** The manifest without server-populated fields; these are ignored with a warning (design 5). */
function cleanManifest(value: Record<string, unknown>): KubeObject {
  const { status: _status, ...rest } = value;
  const metadata = isRecord(value['metadata']) ? { ...value['metadata'] } : value['metadata'];
  if (isRecord(metadata)) for (const field of SERVER_POPULATED_META) delete metadata[field];
  return { ...rest, metadata } as unknown as KubeObject;
}

function warnIgnoredFields(kind: Kind, value: Record<string, unknown>, report: Report): void {
  const metadata = value['metadata'];
  if (isRecord(metadata)) {
    for (const field of SERVER_POPULATED_META) {
      if (!Object.hasOwn(metadata, field)) continue;
      report.warn(
        ['metadata', field],
        `metadata.${field} is set by the server; the value is ignored`,
      );
    }
    if (metadata['generateName'] !== undefined && metadata['name'] === undefined) {
      report.at(
        ['metadata', 'generateName'],
        'metadata.name: Required value: a manifest in git always has its name; generateName works through the API only',
      );
    }
  } else if (metadata === undefined) {
    report.at([], 'metadata: Required value');
  }
  if (value['status'] !== undefined) {
    report.warn(['status'], `status of ${kind.kind} is set by the server; the value is ignored`);
  }
}

function placeInNamespace(at: {
  kind: Kind;
  manifest: KubeObject;
  place: ManifestPlace;
  report: Report;
}): void {
  const { kind, manifest, place, report } = at;
  if (kind.scope === 'Cluster' || !isRecord(manifest.metadata)) return;
  const own = manifest.metadata.namespace;
  const folder = place.folderNamespace;
  if (own === undefined || own === '') {
    manifest.metadata.namespace = folder ?? 'default';
  } else if (folder !== undefined && own !== folder) {
    report.at(
      ['metadata', 'namespace'],
      `metadata.namespace: Invalid value: ${JSON.stringify(own)}: the folder says ${JSON.stringify(folder)}; remove one or move the file`,
    );
  }
}

function identityOf(kind: Kind, manifest: KubeObject): ObjectKey | undefined {
  const name = valueAt(manifest, ['metadata', 'name']);
  const namespace = valueAt(manifest, ['metadata', 'namespace']);
  if (typeof name !== 'string' || name === '') return undefined;
  if (kind.scope === 'Namespaced' && typeof namespace !== 'string') return undefined;
  return {
    group: kind.group,
    kind: kind.kind,
    namespace: kind.scope === 'Namespaced' ? String(namespace) : '',
    name,
  };
}

/** A file in another format: its problems refer to that format, without the envelope. */
function admitClaimed(
  kinds: KindTable,
  of: { claim: FileClaim; place: ManifestPlace; sealed: SealedParts | undefined },
  document: ManifestDocument,
): AdmittedManifest {
  const { claim, place, sealed } = of;
  const { kind, name } = claim;
  const key = keyOf(claim);
  const report = new Report(place.path, document);
  const { value, index } = document;
  if (index > 0) report.at([], `One file is one ${kind.kind}: a second document means nothing`);
  else if (!isRecord(value)) report.at([], 'Expected a map');
  report.sealed(sealed);
  if (report.failed || !isRecord(value)) return report.refuse(key);
  const manifest: KubeObject = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name },
    spec: value as JsonObject,
  };
  const schema = kinds.schemaOf(kind);
  schema.dropNulls(manifest);
  const errors = objectProblems(kind, schema, { object: manifest }).map(inFile);
  report.fields(errors, { object: value, sealed });
  if (report.failed) return report.refuse(key);
  report.warnAll(kind.warnings(manifest), value, sealed);
  const paths = sealed?.paths.map((path) => ['spec', ...path]);
  return report.admit(key, manifest, { encrypted: paths && besideSecrets(kind, paths) });
}

function keyOf({ kind, name }: FileClaim): ObjectKey {
  return { group: kind.group, kind: kind.kind, namespace: '', name };
}

/** Path within the file, which is the spec. */
function inFile(error: FieldError): FieldError {
  if (error.path[0] !== 'spec') return error;
  const path = error.path.slice(1);
  const words = `${formatPath(path)} in body`;
  return { ...error, path, message: error.message.replace(`spec.${words}`, words) };
}

/** Plaintext values that git must not hold; the message has the text to write instead. */
function secretInClear(kind: Kind, manifest: KubeObject): FieldError[] {
  return kind.writeOnly.flatMap((field) => {
    const value = valueAt(manifest, field.path);
    if (typeof value !== 'string') return [];
    const concealed = field.conceal(value);
    if (concealed === value) return [];
    return [
      {
        type: 'FieldValueForbidden' as const,
        path: field.path,
        inClear: true as const,
        message: `Forbidden: must not be in git as plaintext; write "${concealed}" instead, and make a new one, since this one has been in a commit`,
      },
    ];
  });
}
