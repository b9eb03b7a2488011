/**
 * Events from agents and API servers of clusters (`EventList` of `audit.k8s.io/v1`, as the audit
 * webhook of Kubernetes sends it). They are checked, redacted, and marked with their sender.
 */
import { isRecord } from '../apimachinery/index.ts';
import { redactedRequest, redactedUrl } from './redaction.ts';
import { SOURCE_ANNOTATION } from './store/event-rows.ts';

export const MOST_RELAYED = 1000;

const LEVELS = ['Metadata', 'Request', 'RequestResponse'];
const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'];
const AUDIT_ID = /^[\w.:-]{1,128}$/;
/** Resources whose bodies are dropped: most of them are secrets. */
const SECRETIVE = ['secrets', 'tokenreviews', 'sharedsecrets', 'projectsecrets', 'ownedaccesskeys'];

/**
 * JSON texts without their last brace, or the reason why the list is refused. It is taken as a
 * whole or not at all.
 */
export function relayedEvents(body: unknown, sender: string): string[] | string {
  const items = isRecord(body) && body['kind'] === 'EventList' ? body['items'] : undefined;
  if (!Array.isArray(items)) return 'expected an EventList of audit.k8s.io/v1';
  if (items.length > MOST_RELAYED) return `items: at most ${MOST_RELAYED} events at once`;
  const wrong = items.findIndex((item) => !isEvent(item));
  if (wrong >= 0) return `items[${wrong}]: no event with level, stage, auditID and stageTimestamp`;
  return items.map((item) => JSON.stringify(relayed(item, sender)).slice(0, -1));
}

type Item = Readonly<Record<string, unknown>>;

function isEvent(item: unknown): item is Item {
  if (!isRecord(item)) return false;
  const { level, stage, auditID, stageTimestamp } = item;
  return (
    LEVELS.includes(String(level)) &&
    STAGES.includes(String(stage)) &&
    typeof auditID === 'string' &&
    AUDIT_ID.test(auditID) &&
    typeof stageTimestamp === 'string' &&
    !Number.isNaN(Date.parse(stageTimestamp))
  );
}

/** Fields without a body. Other fields of a relayed event are dropped. */
const FIELDS = [
  'level',
  'auditID',
  'stage',
  'verb',
  'user',
  'impersonatedUser',
  'sourceIPs',
  'userAgent',
  'objectRef',
  'responseStatus',
  'requestReceivedTimestamp',
  'stageTimestamp',
];

function relayed(item: Item, sender: string): object {
  const { requestObject, responseObject, requestURI, annotations } = item;
  const known = FIELDS.flatMap((field) => (field in item ? [[field, item[field]]] : []));
  const ref = isRecord(item['objectRef']) ? item['objectRef'] : {};
  const isKept = !SECRETIVE.includes(String(ref['resource'])) && !ref['subresource'];
  const bodies = isKept
    ? { requestObject: plain(requestObject), responseObject: plain(responseObject) }
    : {};
  return {
    ...Object.fromEntries(known),
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    ...(typeof requestURI === 'string' ? { requestURI: redactedUrl(requestURI) } : {}),
    ...bodies,
    annotations: { ...foreign(annotations), [SOURCE_ANNOTATION]: sender },
  };
}

/** Only this daemon may set annotations with its own prefix. */
function foreign(annotations: unknown): object {
  if (!isRecord(annotations)) return {};
  const own = ([name]: [string, unknown]): boolean => !name.startsWith('gitplane.dev/');
  return Object.fromEntries(Object.entries(annotations).filter(own));
}

function plain(body: unknown): unknown {
  const found = redactedRequest(undefined, body);
  return 'value' in found ? found.value : undefined;
}
