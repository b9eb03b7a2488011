/** The login that the configuration describes, with its credentials. */
import type { SecretStoreConfig } from '../config/index.ts';
import type { Login } from '../secret-store-client/index.ts';
import { SettingsError } from './settings-error.ts';

export interface SecretReference {
  /** Name of a SharedSecret in the namespace `default`; may be empty. */
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface LoginSources {
  /** Configuration block of the store, such as `secretStore`. */
  readonly home: string;
  /** Text of a file; `field` names it in messages. Throws `SettingsError`. */
  readonly fileText: (field: string, path: string) => string;
  /** Value of a key of a SharedSecret, without a trailing line break; undefined: absent. */
  readonly secretText: (reference: SecretReference) => string | undefined;
}

/** Plain texts: settings with equal texts are the same login. */
export interface LoginSettings {
  readonly name: string;
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
  /** File of the field `jwt`, read for each login. */
  readonly jwtFile?: { readonly field: string; readonly path: string };
}

type Auth = NonNullable<SecretStoreConfig['auth']>;

/** Path where Kubernetes mounts the service account token of a pod. */
const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Undefined: a token is configured, or neither. Throws `SettingsError`. */
export function readLogin(auth: Auth, sources: LoginSources): LoginSettings | undefined {
  const { appRole, kubernetes, jwt, userpass } = auth;
  const home = `${sources.home}.auth`;
  if (appRole !== undefined) {
    const secret_id = credential(sources, `${home}.appRole.secretId`, {
      text: appRole.secretId,
      file: appRole.secretIdFile,
      reference: appRole.secretIdSecretRef,
    });
    const fields = { role_id: appRole.roleId, ...(secret_id !== undefined && { secret_id }) };
    return { ...placeOf('AppRole', appRole.mount ?? 'approle'), fields };
  }
  if (userpass !== undefined) {
    const password = credential(sources, `${home}.userpass.password`, {
      text: userpass.password,
      file: userpass.passwordFile,
      reference: userpass.passwordSecretRef,
    });
    const user = `login/${encodeURIComponent(userpass.username)}`;
    return {
      ...placeOf('userpass', userpass.mount ?? 'userpass', user),
      fields: { password: password ?? '' },
    };
  }
  if (kubernetes !== undefined) {
    const { mount = 'kubernetes', role, tokenFile = SERVICE_ACCOUNT_TOKEN } = kubernetes;
    const jwtFile = { field: `${home}.kubernetes.tokenFile`, path: tokenFile };
    return withJwt(sources, { ...placeOf('Kubernetes', mount), fields: { role }, jwtFile });
  }
  if (jwt === undefined) return undefined;
  const { mount = 'jwt', role, tokenFile, tokenSecretRef: reference } = jwt;
  const place = placeOf('JWT', mount);
  const fields = role ? { role } : {};
  if (tokenFile) {
    const jwtFile = { field: `${home}.jwt.tokenFile`, path: tokenFile };
    return withJwt(sources, { ...place, fields, jwtFile });
  }
  const text = credential(sources, `${home}.jwt.token`, { reference });
  return { ...place, fields: { ...fields, ...(text !== undefined && { jwt: text }) } };
}

/** Files that the block names, with the fields that name them. */
export function loginFiles(auth: Auth): string[] {
  const { tokenFile, appRole, kubernetes, jwt, userpass } = auth;
  const files = [
    tokenFile,
    appRole?.secretIdFile,
    userpass?.passwordFile,
    kubernetes && (kubernetes.tokenFile ?? SERVICE_ACCOUNT_TOKEN),
    jwt?.tokenFile,
  ];
  return files.flatMap((file) => (file ? [file] : []));
}

/** SharedSecrets that the block refers to. */
export function loginSecrets({ tokenSecretRef, appRole, jwt, userpass }: Auth): string[] {
  const references = [
    tokenSecretRef,
    appRole?.secretIdSecretRef,
    jwt?.tokenSecretRef,
    userpass?.passwordSecretRef,
  ];
  return references.flatMap((reference) => (reference?.name ? [reference.name] : []));
}

/** Reads the JWT file for each login, since it is replaced before it expires. */
export function loginOf(
  { name, path, fields, jwtFile }: LoginSettings,
  fileText: LoginSources['fileText'],
): Login {
  const jwt = (): Record<string, string> =>
    jwtFile === undefined ? {} : { jwt: jwtIn(jwtFile, fileText) };
  return { name, path, fields: () => ({ ...fields, ...jwt() }) };
}

function placeOf(
  method: string,
  mount: string,
  rest = 'login',
): Pick<LoginSettings, 'name' | 'path'> {
  const at = mount.replace(/^\/+|\/+$/g, '');
  const encoded = at.split('/').map(encodeURIComponent).join('/');
  return { name: `${method} at auth/${at}`, path: `auth/${encoded}/${rest}` };
}

/** Reports an invalid file at once, before the first login. */
function withJwt(
  { fileText }: LoginSources,
  settings: LoginSettings & Required<Pick<LoginSettings, 'jwtFile'>>,
): LoginSettings {
  jwtIn(settings.jwtFile, fileText);
  return settings;
}

/** Checks the format of RFC 7519, so that no other file of the machine is sent to the store. */
function jwtIn(
  { field, path }: { readonly field: string; readonly path: string },
  fileText: LoginSources['fileText'],
): string {
  const text = fileText(field, path).trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return text;
  throw new SettingsError('FileUnreadable', `${field}: ${path} holds no JWT; put one there`);
}

interface Written {
  readonly text?: string | undefined;
  readonly file?: string | undefined;
  readonly reference?: SecretReference | undefined;
}

/** Undefined: none is configured, or an optional one is absent. Throws `SettingsError`. */
function credential(
  { fileText, secretText }: LoginSources,
  field: string,
  { text, file, reference }: Written,
): string | undefined {
  if (text) return text;
  if (file) return withoutLineBreak(fileText(`${field}File`, file));
  if (reference === undefined) return undefined;
  const found = secretText(reference);
  if (found !== undefined || reference.optional === true) return found;
  const secret = JSON.stringify(`default/${reference.name ?? ''}`);
  const message = `${field}SecretRef: SharedSecret ${secret} has no key ${JSON.stringify(reference.key)}`;
  throw new SettingsError('CredentialMissing', message);
}

/** Editors end a file with a line break. */
export function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}
