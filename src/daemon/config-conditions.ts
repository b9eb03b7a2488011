/** Status of a Config: facts about the configuration in force. */
import type { ConditionProblem } from '../registry/index.ts';

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
