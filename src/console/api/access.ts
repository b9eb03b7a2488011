/** `GET /access/explain` and `GET /access/who`. */
export type {
  AccessExplanation,
  AccessGrant as Grant,
  AccessList,
  NamedObject as Named,
} from '../../client/index.ts';
