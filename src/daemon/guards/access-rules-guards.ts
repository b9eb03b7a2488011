/** Guards of `spec.owner`, `spec.access` and the roles derived from them. */
import { invalidObject, StatusError } from '../../apimachinery/index.ts';
import { ineffectiveSubresources } from '../../kinds/index.ts';
import { type Guard, isAccessRole } from '../../registry/index.ts';

/** 422. Only writes are checked, so that objects already in a repository stay valid. */
export const subresourceGuard: Guard = ({ kind, object, old }) => {
  if (object === undefined || !kind.hasAccessRules) return undefined;
  const errors = ineffectiveSubresources(object, old);
  return errors.length === 0 ? undefined : invalidObject(kind, object.metadata.name ?? '', errors);
};

/** 405: a derived role is read-only, and changes with the object that it is derived from. */
export const accessRoleGuard: Guard = ({ kind, old }) => {
  const name = old?.metadata.name ?? '';
  if (old === undefined || !isAccessRole({ group: kind.group, name })) return undefined;
  const [owner] = old.metadata.ownerReferences ?? [];
  const source = `${owner?.kind} ${JSON.stringify(owner?.name)}`;
  return new StatusError(
    405,
    'MethodNotAllowed',
    `${kind.plural}.${kind.group} ${JSON.stringify(name)} follows from spec.owner or spec.access of ${source}; change it there`,
    { name, group: kind.group, kind: kind.plural },
  );
};
