/**
 * Problems with the fields of an object, worded as Kubernetes words them
 * (apimachinery `pkg/util/validation/field`). Validators return every problem, never the first.
 */

export type FieldErrorType =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueDuplicate'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotFound';

/** Steps from the root of the object: map keys and list indexes. */
export type FieldPath = readonly (string | number)[];

export interface FieldError {
  readonly type: FieldErrorType;
  readonly path: FieldPath;
  /** `Invalid value: "x": must not be empty`; holds no value of a secret field. */
  readonly message: string;
  /** Set if the field is not in the schema. Strict decoding reports these separately. */
  readonly unknownField?: true;
  /** Set if the value is a plaintext secret, which must not be stored anywhere. */
  readonly inClear?: true;
  /** Position inside a text value, from the start of that text. */
  readonly at?: { readonly line: number; readonly col: number };
}

const WORDS: Record<FieldErrorType, string> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueNotFound: 'Not found',
};

const SHOWN_VALUE_LIMIT = 200;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_VALUE_LIMIT ? `${text.slice(0, SHOWN_VALUE_LIMIT)}…` : text;
}

/** The text without the values that it repeats, for a reader who may not see them. */
export function withoutValues(text: string, values: Iterable<unknown>): string {
  const forms = [...values].flatMap((value) => [
    shown(value),
    ...(typeof value === 'string' ? [value] : []),
  ]);
  // A shorter text is part of other words, and the quoted form is enough for it.
  const hidden = forms.filter((form) => form.length >= SHORTEST_HIDDEN);
  // A value may be a part of another one.
  hidden.sort((a, b) => b.length - a.length);
  return hidden.reduce((left, form) => left.replaceAll(form, '***'), text);
}

const SHORTEST_HIDDEN = 3;

export function required(path: FieldPath, detail = ''): FieldError {
  return { type: 'FieldValueRequired', path, message: withDetail('Required value', detail) };
}

export function invalid(path: FieldPath, value: unknown, detail: string): FieldError {
  return { type: 'FieldValueInvalid', path, message: `Invalid value: ${shown(value)}: ${detail}` };
}

/** For values that must not be printed: names the rule, never the value. */
export function invalidSecret(path: FieldPath, detail: string): FieldError {
  return { type: 'FieldValueInvalid', path, message: `Invalid value: ${detail}` };
}

export function typeInvalid(path: FieldPath, value: unknown, detail: string): FieldError {
  return {
    type: 'FieldValueTypeInvalid',
    path,
    message: `Invalid value: ${shown(value)}: ${detail}`,
  };
}

export function duplicate(path: FieldPath, value: unknown): FieldError {
  return { type: 'FieldValueDuplicate', path, message: `Duplicate value: ${shown(value)}` };
}

export function notSupported(
  path: FieldPath,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const list = supported.map((name) => JSON.stringify(name)).join(', ');
  return {
    type: 'FieldValueNotSupported',
    path,
    message: `Unsupported value: ${shown(value)}: supported values: ${list}`,
  };
}

export function forbidden(path: FieldPath, detail: string): FieldError {
  return {
    type: 'FieldValueForbidden',
    path,
    message: withDetail(WORDS.FieldValueForbidden, detail),
  };
}

export function tooLong(path: FieldPath, limit: number): FieldError {
  return {
    type: 'FieldValueTooLong',
    path,
    message: `Too long: may not be more than ${limit} bytes`,
  };
}

export function tooMany(path: FieldPath, actual: number, most: number): FieldError {
  return {
    type: 'FieldValueTooMany',
    path,
    message: `Too many: ${actual}: must have at most ${most} items`,
  };
}

/** `hint` is the most likely intended name: "did you mean …". */
export function unknownField(path: FieldPath, hint: string | undefined): FieldError {
  const detail = hint === undefined ? 'unknown field' : `unknown field, did you mean "${hint}"?`;
  return {
    type: 'FieldValueForbidden',
    path,
    message: withDetail('Forbidden', detail),
    unknownField: true,
  };
}

function withDetail(words: string, detail: string): string {
  return detail === '' ? words : `${words}: ${detail}`;
}

/** `spec.users[0]`. Keys that are not identifiers are quoted: `metadata.labels["a.b/c"]`. */
export function formatPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text === '' ? '<root>' : text;
}

/** `spec.users[0]: Required value`. */
export function formatFieldError(error: FieldError): string {
  return `${formatPath(error.path)}: ${error.message}`;
}
