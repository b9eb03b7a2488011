/** Who may give rights by owners and access rules, and that what follows from them is theirs alone. */
import { invalidObject, StatusError } from '../../apimachinery/index.ts';
import { delegationProblem, type RuleSource } from '../../auth/index.ts';
import { ineffectiveSubresources } from '../../kinds/index.ts';
import { type Guard, isAccessRole } from '../../registry/index.ts';

export function delegationGuard(rights: RuleSource): Guard {
  return ({ user, kind, object, old }) =>
    object && delegationProblem(rights, { user, kind, object, old });
}

/** 422: judged when it is written, so that what a repository has already stays valid. */
export const subresourceGuard: Guard = ({ kind, object, old }) => {
  if (object === undefined || !kind.hasAccessRules) return undefined;
  const errors = ineffectiveSubresources(object, old);
  return errors.length === 0 ? undefined : invalidObject(kind, object.metadata.name ?? '', errors);
};

/** 405: the object can be read, and changes with the one it follows from. */
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
