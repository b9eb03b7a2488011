/** Conditions in the status of a Config. */
import type { ConditionProblem } from '../../registry/index.ts';

export interface ConfigProblem extends ConditionProblem {
  readonly reason:
    | 'AnotherConfig'
    | 'ReadFromFile'
    | 'VariableMissing'
    | 'ChecksTurnedOff'
    | 'AuditLogFails'
    | 'SecretStoreNotInUse'
    | 'SecretsLeftOut';
}

export type ConfigProblems = Readonly<
  Record<'InForce' | 'SignInVerified' | 'AuditWritten' | 'SecretsPulled', ConfigProblem | undefined>
>;
