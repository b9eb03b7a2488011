/** Public names of `apimachinery/`: other folders import this file alone. */
export { applyConflict } from './apply-conflict.ts';
export { type Clock, rfc3339, systemClock } from './clock.ts';
export { deadline } from './deadline.ts';
export { humanDuration, parseGoDuration } from './duration.ts';
export { ExpiringMap, type ExpiringMapLimits } from './expiring-map.ts';
export {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  formatFieldError,
  formatPath,
  invalid,
  invalidSecret,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
  unknownField,
  withoutValues,
} from './field-error.ts';
export { describeKey, keyString, type ObjectKey, parseKey, sameKey } from './key.ts';
export { KeyMap } from './key-map.ts';
export { type LinearRegExp, linearRegExp } from './linear-regexp.ts';
export { memoize } from './memoize.ts';
export { nameUuids } from './name-uuid.ts';
export {
  dnsLabelProblems,
  dnsSubdomainProblems,
  GENERATE_ATTEMPTS,
  generateName,
  labelValueProblems,
  type NameRule,
  pathSegmentProblems,
  qualifiedNameProblems,
} from './names.ts';
export {
  asKubeObject,
  type Condition,
  canonicalJson,
  cloneJson,
  dropEmptyMeta,
  isKubeObject,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type KubeObject,
  listAt,
  type ManagedFieldsEntry,
  mapAt,
  type ObjectMeta,
  type OwnerReference,
  SERVER_POPULATED_META,
  valueAt,
} from './object.ts';
export { type CountedEvent, EventRing, type EventSink } from './object-events.ts';
export {
  type Attributes,
  AUTHENTICATED_GROUP,
  type Authorizer,
  CONTROL_FILES,
  type Decision,
  type Narrowing,
  type PathAttributes,
  type ResourceAttributes,
  rightOnObject,
  SUPERUSER_GROUP,
  type User,
  type Verb,
} from './request.ts';
export {
  type FieldSelector,
  type LabelSelector,
  parseFieldSelector,
  parseLabelSelector,
} from './selectors.ts';
export {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  firstProblems,
  forbiddenError,
  generateNameExhausted,
  invalidObject,
  MethodNotAllowedError,
  MOST_PROBLEMS,
  methodNotAllowed,
  noSuchRoute,
  notAcceptable,
  notFound,
  type ResourceName,
  resourceVersionTooLarge,
  StatusError,
  type StatusReason,
  tooLarge,
  tooManyRequests,
  unauthorized,
  unavailable,
  unprocessablePatch,
  unsupportedContentEncoding,
  unsupportedMediaType,
  withWarnings,
} from './status-error.ts';
export { caseFolded, ownText, shownPath, TextPool, terminalJson, terminalText } from './text.ts';
export { flatMapYielding, runAtOnce, runYielding, sortInSteps, Yielding } from './yield.ts';
