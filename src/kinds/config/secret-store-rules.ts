/** Rules of `secretStore` and `secretStores` that their schema cannot express (spec section 2.8.11). */
import {
  dnsLabelProblems,
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  type JsonObject,
  parseGoDuration,
  required,
} from '../../apimachinery/index.ts';
import { DEFAULT_STORE } from '../secrets/store-link.ts';
import { namedVariable } from './environment-references.ts';
import { pemInField, rootsProblem } from './root-certificates.ts';
import { storeAuthProblems } from './secret-store-login-rules.ts';
import { type PullShape, storePullProblems } from './secret-store-pull-rules.ts';

export interface SecretStoreShape {
  readonly name?: string;
  readonly enabled?: boolean;
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
  readonly pulls?: readonly PullShape[];
}

/** Problems of `secretStore`. */
export function secretStoreProblems(store: SecretStoreShape, path: FieldPath): FieldError[] {
  const detail = `the store of secretStore is ${JSON.stringify(DEFAULT_STORE)}; stores with names go into secretStores`;
  const named = store.name === undefined ? [] : [forbidden([...path, 'name'], detail)];
  return [...named, ...storeProblems(store, path)];
}

/** Problems of `secretStores`. Environment variables configure the default store only. */
export function secretStoresProblems(
  stores: readonly SecretStoreShape[],
  path: FieldPath,
): FieldError[] {
  const seen = new Set<string>();
  return stores.flatMap((store, index) => {
    const at = [...path, index];
    const { name = '' } = store;
    const errors = [...nameProblems(name, [...at, 'name']), ...storeProblems(store, at)];
    if (seen.has(name)) errors.push(duplicate([...at, 'name'], name));
    seen.add(name);
    if (store.enabled !== true) return errors;
    if (!store.address?.trim()) {
      const detail = 'BAO_ADDR and VAULT_ADDR are for secretStore only';
      errors.push(required([...at, 'address'], detail));
    }
    if (Object.keys(store.auth ?? {}).length === 0) {
      const detail =
        'BAO_TOKEN and VAULT_TOKEN are for secretStore only; configure a login or a token';
      errors.push(required([...at, 'auth'], detail));
    }
    return errors;
  });
}

function nameProblems(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path, 'secrets refer to the store by its name')];
  if (name === DEFAULT_STORE)
    return [invalid(path, name, 'is the name of the store of secretStore')];
  return dnsLabelProblems(name).map((problem) => invalid(path, name, problem));
}

function storeProblems(store: SecretStoreShape, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [
    ...addressProblems(store, path),
    ...tlsProblems(store, path),
    ...storePullProblems(store.pulls ?? [], [...path, 'pulls']),
  ];
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
    errors.push(required([...path, missing], `the client ${there} has no effect alone`));
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
