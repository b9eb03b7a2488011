/** `GET /summary` and `GET /search`. */
export type {
  DegradedObject,
  HeldSummary,
  NamedObject,
  PushSummary,
  SearchResult,
  Summary,
} from '../../client/index.ts';
