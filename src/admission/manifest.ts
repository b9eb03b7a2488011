/** Turns a document of a file into an object with an identity, or into problems with positions. */
import {
  asKubeObject,
  type FieldError,
  formatPath,
  isRecord,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  valueAt,
} from '../apimachinery/index.ts';
import { apiVersionOf, type FileClaim, type Kind, type KindTable } from '../kinds/index.ts';
import type { ManifestDocument } from '../manifests/index.ts';
import { objectProblems, objectWarnings } from './check.ts';
import {
  cleanManifest,
  findKind,
  identityOf,
  isAsServed,
  type ManifestPlace,
  placeInNamespace,
  warnIgnoredFields,
} from './manifest-envelope.ts';
import { type AdmittedManifest, NOTHING, Report, type SealedParts } from './manifest-report.ts';

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
  if (sealed?.unreadable === true) return report.partial(key, manifest, sealed);
  report.sealed(sealed);
  if (report.failed) return report.refuse(key);
  const errors = objectProblems(kind, kinds.schemaOf(kind), { object: manifest });
  report.fields([...secretInClear(kind, manifest), ...errors]);
  if (report.failed) return report.refuse(key);
  // Runs last: deprecation checks need an object of valid shape.
  for (const warning of objectWarnings(kind, manifest)) report.warn([], warning);
  return report.admit(key, manifest, json);
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
  report.fields(objectProblems(kind, schema, { object: manifest }).map(inFile));
  if (report.failed) return report.refuse(key);
  for (const warning of kind.warnings(manifest)) report.warn([], warning);
  return report.admit(key, manifest);
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
        message: `Forbidden: must not be in git in the clear; write "${concealed}" instead, and make a new one, since this one has been in a commit`,
      },
    ];
  });
}
