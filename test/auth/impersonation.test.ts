import { expect, test } from 'vitest';
import type { Attributes, Authorizer, User } from '../../src/apimachinery/request.ts';
import { impersonationRefusal } from '../../src/auth/escalation/impersonation.ts';

const ADA: User = { name: 'ada', groups: ['system:authenticated', 'gitplane:team:ops'] };

/** Allows to impersonate exactly the named users and groups. */
function allowing(...names: string[]): Authorizer {
  return {
    authorize: (_user: User, attributes: Attributes) => ({
      allowed:
        'resource' in attributes &&
        attributes.verb === 'impersonate' &&
        attributes.group === '' &&
        names.includes(`${attributes.resource}/${attributes.name}`),
      reason: '',
    }),
  };
}

test.each([
  { claim: 'a key of their own', users: ['ada'], groups: [], may: [], refused: false },
  {
    claim: 'a key of their team',
    users: [],
    groups: ['gitplane:team:ops'],
    may: [],
    refused: false,
  },
  { claim: 'a key of somebody else', users: ['admin'], groups: [], may: [], refused: true },
  {
    claim: 'a key of another team',
    users: [],
    groups: ['gitplane:team:x'],
    may: [],
    refused: true,
  },
  {
    claim: 'a group they are not in',
    users: ['ada'],
    groups: ['auditors'],
    may: [],
    refused: true,
  },
  {
    claim: 'a user they may impersonate',
    users: ['bot'],
    groups: [],
    may: ['users/bot'],
    refused: false,
  },
  {
    claim: 'a group named like that user',
    users: [],
    groups: ['bot'],
    may: ['users/bot'],
    refused: true,
  },
  {
    claim: 'a group they may impersonate',
    users: [],
    groups: ['x'],
    may: ['groups/x'],
    refused: false,
  },
])('$claim: refused is $refused', ({ users, groups, may, refused }) => {
  const refusal = impersonationRefusal(allowing(...may), ADA, { users, groups });

  expect(refusal !== undefined).toBe(refused);
});
