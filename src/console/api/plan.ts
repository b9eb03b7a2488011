/** `POST /plan`, `GET /compare`, and effects of writes. */
export type {
  AccessChange,
  Comparison,
  DerivedChanges,
  FieldChange,
  Plan,
  PlanChange,
  PlanEffects,
  WriteEffect,
} from '../../client/index.ts';
