/** Rules of `notifications` that their schema cannot express. */
import {
  dnsLabelProblems,
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  required,
} from '../../apimachinery/index.ts';
import { namedVariable } from './environment-references.ts';

export interface NotificationShape {
  readonly name: string;
  readonly webhook?: {
    readonly url: string;
    readonly secret?: string;
    readonly secretFile?: string;
  };
  readonly slack?: { readonly url?: string; readonly urlFile?: string };
  readonly email?: {
    readonly host: string;
    readonly tls?: string;
    readonly username?: string;
    readonly password?: string;
    readonly passwordFile?: string;
    readonly from: string;
    readonly to: readonly string[];
  };
}

const KINDS = ['webhook', 'slack', 'email'] as const;
const LEAST_SECRET = 16;
const ADDRESS = /^[^\s<>,;"@]+@[^\s<>,;"@]+$/;

export function notificationProblems(
  notifications: readonly NotificationShape[],
  path: FieldPath,
): FieldError[] {
  const seen = new Set<string>();
  return notifications.flatMap((one, index) => {
    const at = [...path, index];
    const errors = dnsLabelProblems(one.name).map((text) =>
      invalid([...at, 'name'], one.name, text),
    );
    if (seen.has(one.name)) errors.push(duplicate([...at, 'name'], one.name));
    seen.add(one.name);
    const kinds = KINDS.filter((kind) => one[kind] !== undefined);
    if (kinds.length === 0) errors.push(required([...at, 'webhook'], 'or slack, or email'));
    for (const kind of kinds.slice(1)) {
      errors.push(forbidden([...at, kind], `${kinds[0]} is set as well; keep one of them`));
    }
    return [...errors, ...receiverProblems(one, at)];
  });
}

function receiverProblems(
  { webhook, slack, email }: NotificationShape,
  at: FieldPath,
): FieldError[] {
  return [
    ...(webhook ? webhookProblems(webhook, [...at, 'webhook']) : []),
    ...(slack ? slackProblems(slack, [...at, 'slack']) : []),
    ...(email ? emailProblems(email, [...at, 'email']) : []),
  ];
}

function webhookProblems(
  { url, secret, secretFile }: NonNullable<NotificationShape['webhook']>,
  path: FieldPath,
): FieldError[] {
  const errors = isUrl(url) ? [] : [invalid([...path, 'url'], url, URL_FORM)];
  if (secret === undefined && secretFile === undefined) {
    errors.push(
      required([...path, 'secret'], 'receivers check the signature of each notification'),
    );
  }
  if (secret !== undefined && secretFile !== undefined) errors.push(both(path, 'secret'));
  if (secret !== undefined && namedVariable(secret) === undefined && secret.length < LEAST_SECRET) {
    const detail = `must have at least ${LEAST_SECRET} characters`;
    errors.push(invalidSecret([...path, 'secret'], detail));
  }
  return errors;
}

function slackProblems(
  { url, urlFile }: NonNullable<NotificationShape['slack']>,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (url === undefined && urlFile === undefined)
    errors.push(required([...path, 'url'], 'or urlFile'));
  if (url !== undefined && urlFile !== undefined) errors.push(both(path, 'url'));
  if (url !== undefined && !isUrl(url)) errors.push(invalidSecret([...path, 'url'], URL_FORM));
  return errors;
}

function emailProblems(
  { tls, username, password, passwordFile, from, to }: NonNullable<NotificationShape['email']>,
  path: FieldPath,
): FieldError[] {
  const errors = [['from', from] as const, ...to.map((one, index) => [index, one] as const)]
    .filter(([, address]) => !ADDRESS.test(address))
    .map(([step, address]) => {
      const place = step === 'from' ? [...path, step] : [...path, 'to', step];
      return invalid(place, address, 'must be an address, as in "ops@example.com"');
    });
  const hasPassword = password !== undefined || passwordFile !== undefined;
  if (password !== undefined && passwordFile !== undefined) errors.push(both(path, 'password'));
  if (hasPassword !== (username !== undefined)) {
    const missing = hasPassword ? 'username' : 'password';
    errors.push(required([...path, missing], 'a user name and a password go together'));
  }
  if (tls === 'None' && hasPassword) {
    errors.push(forbidden([...path, 'tls'], 'a password would be sent without encryption'));
  }
  return errors;
}

const URL_FORM = 'must be a URL that begins with "https://" or "http://", without a user name';

function isUrl(text: string): boolean {
  if (namedVariable(text) !== undefined) return true;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return /^https?:$/.test(url?.protocol ?? '') && url?.username === '' && url.password === '';
}

function both(path: FieldPath, field: string): FieldError {
  return forbidden([...path, `${field}File`], `${field} is set as well; keep one of them`);
}
