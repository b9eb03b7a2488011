/** From a document of a file to an object with an identity, or to problems with places. */
import {
  type FieldError,
  type FieldPath,
  formatFieldError,
  formatPath,
} from '../apimachinery/field-error.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import {
  isRecord,
  type JsonObject,
  type KubeObject,
  SERVER_POPULATED_META,
  valueAt,
} from '../apimachinery/object.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { secretPlaces } from '../kinds/secret-places.ts';
import type { FileClaim, KindTable } from '../kinds/table.ts';
import type { ManifestDocument, Problem } from '../manifests/manifest.ts';
import { objectProblems, objectWarnings } from './check.ts';

/** Where a document was found, and what its place says about it. */
export interface ManifestPlace {
  readonly path: string;
  /** The namespace that the folder gives, if it gives one. */
  readonly folderNamespace: string | undefined;
  /** The path alone says which object the file is, and the file is its spec. */
  readonly claim?: FileClaim | undefined;
  /** Nobody will ask for secrets in the clear: they are not looked for. */
  readonly ignoresClear?: boolean;
}

/** What is known of a document whose secrets are sealed; its value is the opened one. */
export interface SealedParts {
  /** Why it is not valid, whatever its values are. */
  readonly problems: readonly {
    readonly path: FieldPath;
    readonly message: string;
    readonly inClear?: true;
  }[];
  /** Nobody here can open it: sealed values are left out of the value. */
  readonly unreadable: boolean;
  /** Whether the text of the file has the value sealed. */
  isSealed(path: FieldPath): boolean;
  /** Where comments beside sealed values stand in the clear. */
  readonly comments: readonly { readonly line: number; readonly col: number }[];
}

export interface AdmittedManifest {
  /** Known as soon as kind and name can be read, even when the rest is wrong. */
  readonly key: ObjectKey | undefined;
  /** Set only when there are no problems: without fields that only the server may write. */
  readonly manifest: KubeObject | undefined;
  /** The manifest as JSON, where it is at hand. */
  readonly json?: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Secrets that the file holds in the clear, as problems where that is refused. */
  readonly clear: readonly Problem[];
  /** The manifest lacks what is sealed, for want of a key; `problems` tell so. */
  readonly partial: boolean;
}

/** `sealed` absent: nothing in the file is. */
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
  const manifest = json === undefined ? cleanManifest(value) : (value as unknown as KubeObject);
  if (json === undefined) {
    kinds.schemaOf(kind).dropNulls(manifest);
    noteIgnoredFields(kind, value, report);
    placeInNamespace({ kind, manifest, place, report });
  }
  const key = identityOf(kind, manifest);
  if (place.ignoresClear !== true) report.clear(kind, manifest, sealed);
  report.comments(sealed);
  if (sealed?.unreadable === true) return report.partial(key, manifest, sealed);
  report.sealed(sealed);
  if (report.failed) return report.refuse(key);
  const errors = objectProblems(kind, kinds.schemaOf(kind), { object: manifest });
  report.fields([...secretInClear(kind, manifest), ...errors]);
  if (report.failed) return report.refuse(key);
  // Asked last: only an object of the right shape can be asked what is deprecated in it.
  for (const warning of objectWarnings(kind, manifest)) report.warn([], warning);
  return report.admit(key, manifest, json);
}

const NOTHING: AdmittedManifest = {
  key: undefined,
  manifest: undefined,
  problems: [],
  warnings: [],
  clear: [],
  partial: false,
};

/** A file of another make: what is wrong with it is told in its own words, without our envelope. */
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
  report.fields(objectProblems(kind, schema, { object: manifest }).map(inFile));
  if (report.failed) return report.refuse(key);
  for (const warning of kind.warnings(manifest)) report.warn([], warning);
  return report.admit(key, manifest);
}

function keyOf({ kind, name }: FileClaim): ObjectKey {
  return { group: kind.group, kind: kind.kind, namespace: '', name };
}

/** As seen from the file, which is the spec. */
function inFile(error: FieldError): FieldError {
  if (error.path[0] !== 'spec') return error;
  const path = error.path.slice(1);
  const words = `${formatPath(path)} in body`;
  return { ...error, path, message: error.message.replace(`spec.${words}`, words) };
}

/** Each place has to be looked up; more than this is one mistake, made many times. */
const MOST_PROBLEMS = 100;

class Report {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #clear: Problem[] = [];
  readonly #path: string;
  readonly #document: ManifestDocument;

  constructor(path: string, document: ManifestDocument) {
    this.#path = path;
    this.#document = document;
  }

  get failed(): boolean {
    return this.problems.length > 0;
  }

  at(field: FieldPath, message: string): void {
    this.problems.push(this.#problem(field, message));
  }

  warn(field: FieldPath, message: string): void {
    this.warnings.push(this.#problem(field, message));
  }

  clear(kind: Kind, manifest: KubeObject, sealed: SealedParts | undefined): void {
    for (const place of secretPlaces(kind, manifest)) {
      if (sealed?.isSealed(place) === true) continue;
      const command = `gitplane seal ${this.#path}`;
      const message = `${formatPath(place)}: must not be in git in the clear; seal it with "${command}", and change the value wherever it is used if this commit has left your machine`;
      this.#clear.push({ ...this.#problem(place, message), inClear: true });
      if (this.#clear.length >= MOST_PROBLEMS) return;
    }
  }

  /** No reason to refuse, as for SOPS; they may say what the value is, or what it was. */
  comments(sealed: SealedParts | undefined): void {
    const path = this.#path;
    const message = `a comment beside sealed values is in the clear; seal it with "gitplane seal ${path}"`;
    for (const place of (sealed?.comments ?? []).slice(0, MOST_PROBLEMS)) {
      this.warnings.push({ path, ...place, message, inClear: true });
    }
  }

  sealed(sealed: SealedParts | undefined): void {
    for (const { path, message, inClear } of (sealed?.problems ?? []).slice(0, MOST_PROBLEMS)) {
      const problem = this.#problem(path, `${formatPath(path)}: ${message}`);
      this.problems.push(inClear === undefined ? problem : { ...problem, inClear });
    }
  }

  partial(key: ObjectKey | undefined, manifest: KubeObject, sealed: SealedParts): AdmittedManifest {
    // What is wrong with the identity is worse than what cannot be read.
    if (this.failed || key === undefined) return this.refuse(key);
    this.sealed(sealed);
    const problems = this.problems.map((problem) => ({ ...problem, unreadable: true as const }));
    const { warnings } = this;
    return { ...NOTHING, key, manifest, problems, warnings, clear: this.#clear, partial: true };
  }

  /** Without a spread: for nearly all manifests, and that would be a new shape to V8 each time. */
  admit(key: ObjectKey | undefined, manifest: KubeObject, json?: string): AdmittedManifest {
    const { problems, partial } = NOTHING;
    const { warnings } = this;
    const clear = this.#clear;
    if (json === undefined) return { key, manifest, problems, warnings, clear, partial };
    return { key, manifest, json, problems, warnings, clear, partial };
  }

  fields(errors: readonly FieldError[]): void {
    for (const error of errors.slice(0, MOST_PROBLEMS)) this.#field(error);
    const left = errors.length - MOST_PROBLEMS;
    if (left > 0) this.at([], `… and ${left} more problems in this document`);
  }

  #field(error: FieldError): void {
    const atKey = error.unknownField === true;
    const place = this.#document.locate(error.path, { atKey, inside: error.at });
    const message = formatFieldError(error);
    const more = error.inClear === undefined ? {} : { inClear: error.inClear };
    this.problems.push({ path: this.#path, ...place, message, ...more });
  }

  refuse(key: ObjectKey | undefined): AdmittedManifest {
    const { problems, warnings } = this;
    return { ...NOTHING, key, problems, warnings, clear: this.#clear };
  }

  #problem(field: FieldPath, message: string): Problem {
    return { path: this.#path, ...this.#document.locate(field), message };
  }
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

/** Where objects come from that are no manifests. */
const ELSEWHERE: Readonly<Record<Exclude<Kind['storedIn'], 'git'>, string>> = {
  nowhere: 'are made through the API and never kept in git',
  cluster: 'are kept in clusters and not in git',
  file: 'are written as files of their own and not as manifests; see the documentation of the kind',
};

/** Whether nothing would be taken out of the manifest or put into it. */
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

/** The manifest without what only the server may write; ignored with a warning (design 5). */
function cleanManifest(value: Record<string, unknown>): KubeObject {
  const { status: _status, ...rest } = value;
  const metadata = isRecord(value['metadata']) ? { ...value['metadata'] } : value['metadata'];
  if (isRecord(metadata)) for (const field of SERVER_POPULATED_META) delete metadata[field];
  return { ...rest, metadata } as unknown as KubeObject;
}

function noteIgnoredFields(kind: Kind, value: Record<string, unknown>, report: Report): void {
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

/** Values that git must not hold in the clear; the message carries what to write instead. */
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
        message: `Forbidden: must not be in git in the clear; write "${concealed}" instead, and make a new one, since this one has been in a commit`,
      },
    ];
  });
}
