/** Rules of the login at the secret store that the schema cannot express. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  isRecord,
  type JsonObject,
  required,
} from '../../apimachinery/index.ts';

interface LoginRule {
  /** Fields that hold the credential; at most one is set. */
  readonly credentials: readonly string[];
  /** True: one of them must be set. */
  readonly needsOne: boolean;
}

const LOGINS: Readonly<Record<string, LoginRule>> = {
  appRole: { credentials: ['secretId', 'secretIdFile', 'secretIdSecretRef'], needsOne: false },
  kubernetes: { credentials: ['tokenFile'], needsOne: false },
  jwt: { credentials: ['tokenFile', 'tokenSecretRef'], needsOne: true },
  userpass: { credentials: ['password', 'passwordFile', 'passwordSecretRef'], needsOne: true },
};

/** Problems of `secretStore.auth`. */
export function storeAuthProblems(auth: JsonObject, path: FieldPath): FieldError[] {
  return [
    ...keyProblems(auth, path),
    ...exclusive(auth, path, methodsOf(auth)),
    ...Object.entries(LOGINS).flatMap(([name, rule]) => {
      const login = auth[name];
      return isRecord(login) ? loginProblems(login, [...path, name], rule) : [];
    }),
  ];
}

/** `token` wins over `tokenSecretRef` (spec section 2.8.11), so the two count as one method. */
function methodsOf(auth: JsonObject): string[] {
  const tokens = ['token', 'tokenSecretRef'].filter((name) => auth[name]);
  return [
    ...tokens.slice(0, 1),
    ...['tokenFile', ...Object.keys(LOGINS)].filter((name) => auth[name]),
  ];
}

function exclusive(block: JsonObject, path: FieldPath, names: readonly string[]): FieldError[] {
  const [first, ...others] = names.filter((name) => block[name]);
  return others.map((name) =>
    forbidden([...path, name], `${first} is set as well; keep one of them`),
  );
}

function loginProblems(
  login: JsonObject,
  path: FieldPath,
  { credentials, needsOne }: LoginRule,
): FieldError[] {
  const errors = [...keyProblems(login, path), ...exclusive(login, path, credentials)];
  const [preferred = ''] = credentials.slice(-1);
  if (needsOne && !credentials.some((name) => login[name])) {
    errors.push(required([...path, preferred], `set one of ${credentials.join(', ')}`));
  }
  const { mount } = login;
  const isPath = typeof mount !== 'string' || /^(?!auth\/)\w[\w.-]*(\/\w[\w.-]*)*\/?$/.test(mount);
  if (!isPath) {
    const detail = 'must be a path below auth/, and without it, as in "approle" or "team/approle"';
    errors.push(invalid([...path, 'mount'], mount, detail));
  }
  return errors;
}

function keyProblems(block: JsonObject, path: FieldPath): FieldError[] {
  return Object.entries(block).flatMap(([name, reference]) => {
    const key = name.endsWith('SecretRef') && isRecord(reference) ? reference['key'] : undefined;
    if (typeof key !== 'string' || /^[-._a-zA-Z0-9]+$/.test(key)) return [];
    const detail = "must consist of alphanumeric characters, '-', '_' or '.'";
    return [invalid([...path, name, 'key'], key, detail)];
  });
}
