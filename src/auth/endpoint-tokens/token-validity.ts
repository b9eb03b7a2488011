/**
 * Validity of an endpoint token beyond signature and time: its owner must exist and accept it (invariant
 * 10). An offline verifier cannot check this.
 */
import type { JWTPayload } from 'jose';
import { isRecord } from '../../apimachinery/index.ts';
import type { Directory } from '../identity/directory.ts';

export interface TokenFacts {
  readonly directory: Directory;
  /** Identity of the access key of that name; undefined while it does not work. */
  keyIdOf(name: string): string | undefined;
  isRevoked(id: string): boolean;
}

/** Reason why a token is void, as a sentence; undefined: it is valid. */
export function voidReason(claims: JWTPayload, facts: TokenFacts): string | undefined {
  const { jti = '', gitplane } = claims;
  if (facts.isRevoked(jti)) return 'the token was revoked';
  if (!isRecord(gitplane)) return 'the token does not say whom it was issued to';
  const { kind, name, uid, gen, key, keyId } = gitplane;
  const presentId = typeof key === 'string' ? facts.keyIdOf(key) : undefined;
  if (presentId === undefined) {
    return 'the access key that asked for the token does not work any more';
  }
  if (presentId !== keyId) {
    return 'the access key that asked for the token was replaced by another one of its name';
  }
  return ownerProblem(facts.directory, { kind, name: String(name), uid, gen });
}

interface Owner {
  readonly kind: unknown;
  readonly name: string;
  readonly uid: unknown;
  readonly gen: unknown;
}

const GONE = 'the owner of the token does not exist any more';

function ownerProblem(directory: Directory, owner: Owner): string | undefined {
  if (owner.kind === ownerKinds.subject) return undefined;
  const isUser = owner.kind === ownerKinds.user;
  const user = isUser ? directory.user(owner.name) : undefined;
  const found = isUser ? user : directory.team(owner.name);
  if (found === undefined || found.uid !== owner.uid) return GONE;
  if (user?.disabled === true) return 'the user of the token is disabled';
  if (user !== undefined && Number(owner.gen) < user.tokenGeneration) {
    return 'all earlier tokens of the user were voided';
  }
  return undefined;
}

/** As the claim `gitplane.kind` names them (`identity.ts`). */
const ownerKinds = { user: 'User', subject: 'Subject' };
