/** Rules between the fields of `secretStore` that its schema cannot say (spec section 2.8.11). */
import { parseGoDuration } from '../apimachinery/duration.ts';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  required,
} from '../apimachinery/field-error.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import { storeAuthProblems } from './config-store-login-rules.ts';
import { namedVariable } from './environment-references.ts';
import { pemInField, rootsProblem } from './root-certificates.ts';

export interface SecretStoreShape {
  readonly address?: string;
  readonly skipTLSVerify?: boolean;
  readonly caFile?: string;
  readonly caData?: string;
  readonly clientCertFile?: string;
  readonly clientCertData?: string;
  readonly clientKeyFile?: string;
  readonly clientKeyData?: string;
  readonly syncInterval?: string;
  readonly auth?: JsonObject;
}

export function secretStoreProblems(store: SecretStoreShape, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [...addressProblems(store, path), ...tlsProblems(store, path)];
  const interval = store.syncInterval;
  if (interval !== undefined && !((parseGoDuration(interval) ?? 0) > 0)) {
    const detail = 'must be a duration above zero, as in "30s" or "1m30s"';
    errors.push(invalid([...path, 'syncInterval'], interval, detail));
  }
  return store.auth === undefined
    ? errors
    : [...errors, ...storeAuthProblems(store.auth, [...path, 'auth'])];
}

function addressProblems({ address = '' }: SecretStoreShape, path: FieldPath): FieldError[] {
  return /[?#]/.test(address)
    ? [invalid([...path, 'address'], address, 'must have no query and no fragment')]
    : [];
}

const PAIRS = [
  ['caFile', 'caData'],
  ['clientCertFile', 'clientCertData'],
  ['clientKeyFile', 'clientKeyData'],
] as const;

function tlsProblems(store: SecretStoreShape, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [file, data] of PAIRS) {
    if (store[file] && store[data]) {
      errors.push(forbidden([...path, file], `${data} is set as well; keep one of them`));
    }
  }
  const hasCert = Boolean(store.clientCertFile || store.clientCertData);
  const hasKey = Boolean(store.clientKeyFile || store.clientKeyData);
  if (hasCert !== hasKey) {
    const [missing, there] = hasCert ? ['clientKeyFile', 'certificate'] : ['clientCertFile', 'key'];
    errors.push(required([...path, missing], `the client ${there} is of no use alone`));
  }
  if (store.skipTLSVerify === true && (store.caFile || store.caData)) {
    const detail = 'is true, and the authorities beside it would be ignored; keep one of them';
    errors.push(forbidden([...path, 'skipTLSVerify'], detail));
  }
  return [...errors, ...pemProblems(store, path)];
}

function pemProblems(store: SecretStoreShape, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['caData', 'clientCertData'] as const) {
    const problem = store[field] ? pemProblem(store[field]) : undefined;
    if (problem !== undefined) errors.push(invalidSecret([...path, field], problem));
  }
  const { clientKeyData: key = '' } = store;
  if (key !== '' && namedVariable(key) === undefined && pemInField(key) === undefined) {
    const detail = 'must be a private key as PEM, base64 of one, or the name of a variable';
    errors.push(invalidSecret([...path, 'clientKeyData'], detail));
  }
  return errors;
}

function pemProblem(text: string): string | undefined {
  const pem = pemInField(text);
  return pem === undefined ? 'must be a certificate as PEM, or base64 of one' : rootsProblem(pem);
}
