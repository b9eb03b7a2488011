/** Report about a document: problems and warnings with positions, and the resulting verdict. */
import {
  type FieldError,
  type FieldPath,
  formatFieldError,
  formatPath,
  type KubeObject,
  type ObjectKey,
  valueAt,
  withoutValues,
} from '../apimachinery/index.ts';
import { type Kind, type SecretPaths, secretPlaces, valuesAt } from '../kinds/index.ts';
import type { ManifestDocument, Problem } from '../manifests/index.ts';

/** Facts about an encrypted document; its value is the decrypted one. */
export interface SealedParts {
  /** Reasons why it is not valid, independent of its values. */
  readonly problems: readonly {
    readonly path: FieldPath;
    readonly message: string;
    readonly inClear?: true;
  }[];
  /** The daemon cannot decrypt it: encrypted values are omitted. */
  readonly unreadable: boolean;
  /** True if the value is encrypted in the file. */
  isSealed(path: FieldPath): boolean;
  /** Paths of the encrypted values, without the places in lists: `*` stands for these. */
  readonly paths: SecretPaths;
  /** Positions of plaintext comments beside encrypted values. */
  readonly comments: readonly { readonly line: number; readonly col: number }[];
}

export interface AdmittedManifest {
  /** Known as soon as kind and name are readable, even if the rest is invalid. */
  readonly key: ObjectKey | undefined;
  /** Set only without problems; has no server-populated fields. */
  readonly manifest: KubeObject | undefined;
  /** The manifest as JSON, if available. */
  readonly json?: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Plaintext secrets in the file, as problems for repositories that refuse them. */
  readonly clear: readonly Problem[];
  /** The manifest lacks encrypted values because a key is missing; `problems` report that. */
  readonly partial: boolean;
  /** Values that the file encrypts beside the secret fields of the kind; absent: none. */
  readonly encrypted?: SecretPaths | undefined;
}

export const NOTHING: AdmittedManifest = {
  key: undefined,
  manifest: undefined,
  problems: [],
  warnings: [],
  clear: [],
  partial: false,
};

/** Each position has to be computed; more problems are usually one repeated mistake. */
const MAX_PROBLEMS = 100;

export class Report {
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

  /** Warnings about the object, without its encrypted values. */
  warnAll(messages: readonly string[], object: unknown, sealed: SealedParts | undefined): void {
    const values = sealed === undefined ? [] : valuesAt([object], sealed.paths);
    for (const message of messages) this.warn([], withoutValues(message, values));
  }

  clear(kind: Kind, manifest: KubeObject, sealed: SealedParts | undefined): void {
    for (const place of secretPlaces(kind, manifest)) {
      if (sealed?.isSealed(place) === true) continue;
      const command = `gitplane seal ${this.#path}`;
      const message = `${formatPath(place)}: must not be in git as plaintext; seal it with "${command}", and change the value wherever it is used if this commit has left your machine`;
      this.#clear.push({ ...this.#problem(place, message), inClear: true });
      if (this.#clear.length >= MAX_PROBLEMS) return;
    }
  }

  /** Not refused, as in SOPS, but reported: a comment may reveal a value. */
  comments(sealed: SealedParts | undefined): void {
    const path = this.#path;
    const message = `a comment beside sealed values is plaintext; seal it with "gitplane seal ${path}"`;
    for (const place of (sealed?.comments ?? []).slice(0, MAX_PROBLEMS)) {
      this.warnings.push({ path, ...place, message, inClear: true });
    }
  }

  sealed(sealed: SealedParts | undefined): void {
    for (const { path, message, inClear } of (sealed?.problems ?? []).slice(0, MAX_PROBLEMS)) {
      const problem = this.#problem(path, `${formatPath(path)}: ${message}`);
      this.problems.push(inClear === undefined ? problem : { ...problem, inClear });
    }
  }

  partial(
    key: ObjectKey | undefined,
    manifest: KubeObject,
    { sealed, encrypted }: { sealed: SealedParts; encrypted: SecretPaths | undefined },
  ): AdmittedManifest {
    // An invalid identity is worse than an unreadable value.
    if (this.failed || key === undefined) return this.refuse(key);
    this.sealed(sealed);
    const problems = this.problems.map((problem) => ({ ...problem, unreadable: true as const }));
    const { warnings } = this;
    const clear = this.#clear;
    return { ...NOTHING, key, manifest, problems, warnings, clear, partial: true, encrypted };
  }

  /** No spread: this runs for nearly all manifests, and each would get a new V8 shape. */
  admit(
    key: ObjectKey | undefined,
    manifest: KubeObject,
    { json, encrypted }: { json?: string | undefined; encrypted?: SecretPaths | undefined } = {},
  ): AdmittedManifest {
    const { problems, partial } = NOTHING;
    const { warnings } = this;
    const clear = this.#clear;
    if (json === undefined) return { key, manifest, problems, warnings, clear, partial, encrypted };
    return { key, manifest, json, problems, warnings, clear, partial };
  }

  /**
   * Encrypted values of `object` are not repeated, whatever field the error is about: readers of a
   * problem are not those of the value.
   */
  fields(
    errors: readonly FieldError[],
    { object, sealed }: { readonly object: unknown; readonly sealed: SealedParts | undefined },
  ): void {
    const values = sealed === undefined ? [] : valuesAt([object], sealed.paths);
    for (const error of errors.slice(0, MAX_PROBLEMS)) {
      const value = valueAt(object, error.path);
      const isHidden = sealed !== undefined && holdsSealed(sealed, error.path, value);
      const hidden = isHidden ? [value, ...values] : values;
      this.#field({ ...error, message: withoutValues(error.message, hidden) });
    }
    const left = errors.length - MAX_PROBLEMS;
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

/** True if the value, or one below it, is encrypted in the file. */
function holdsSealed(sealed: SealedParts, path: FieldPath, value: unknown): boolean {
  if (sealed.isSealed(path)) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, below]) =>
    holdsSealed(sealed, [...path, Array.isArray(value) ? Number(key) : key], below),
  );
}
