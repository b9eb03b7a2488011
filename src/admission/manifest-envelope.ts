/**
 * The envelope of a manifest: its kind, its scope, and the fields that only the server may write.
 */
import {
  isRecord,
  type KubeObject,
  type ObjectKey,
  SERVER_POPULATED_META,
  valueAt,
} from '../apimachinery/index.ts';
import type { FileClaim, Kind, KindTable } from '../kinds/index.ts';
import type { Report } from './manifest-report.ts';

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

export function findKind(
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

/** Sources of objects that have no manifests. */
const ELSEWHERE: Readonly<Record<Exclude<Kind['storedIn'], 'git'>, string>> = {
  nowhere: 'are made through the API and never kept in git',
  cluster: 'are kept in clusters and not in git',
  file: 'are written as files of their own and not as manifests; see the documentation of the kind',
};

/** True if serving the manifest needs no removed or added fields. */
export function isAsServed(
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
export function cleanManifest(value: Record<string, unknown>): KubeObject {
  const { status: _status, ...rest } = value;
  const metadata = isRecord(value['metadata']) ? { ...value['metadata'] } : value['metadata'];
  if (isRecord(metadata)) for (const field of SERVER_POPULATED_META) delete metadata[field];
  return { ...rest, metadata } as unknown as KubeObject;
}

export function warnIgnoredFields(
  kind: Kind,
  value: Record<string, unknown>,
  report: Report,
): void {
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

export function placeInNamespace(at: {
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

export function identityOf(kind: Kind, manifest: KubeObject): ObjectKey | undefined {
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
