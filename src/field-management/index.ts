/** Public names of `field-management/`: other folders import this file alone. */
export { FieldSet } from './field-set.ts';
export { fieldsText } from './fields-text.ts';
export {
  type ApplyOfFields,
  applyManagers,
  FieldConflictError,
  updateManagers,
} from './manage.ts';
export {
  capUpdaters,
  type Manager,
  type Managers,
  managerId,
  type Owned,
  readManagers,
  writeManagers,
} from './managers.ts';
export { DuplicateItemError, UNMANAGED_META } from './shape.ts';
export { compare, fieldsOf } from './walk.ts';
