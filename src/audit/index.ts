/** Public names of `audit/`: other folders import this file alone. */
export type { SinkName } from './audit-sink.ts';
export { Auditor, type AuditTrail } from './auditor.ts';
export { codeOf } from './error-code.ts';
export type {
  AuditedAnswer,
  AuditedBodies,
  AuditedRoute,
  Impersonated,
  ObjectIdentity,
} from './event.ts';
export type { RequestTarget } from './policy.ts';
export { isPlain, redactedRequest, redactedResponse, redactedUrl } from './redaction.ts';
export { relayedEvents } from './relayed.ts';
export type { EventQuery } from './store/data-store.ts';
