/** Keys for programs: the approvals of users, until the program fetches its key. */
import type { Clock } from '../apimachinery/index.ts';
import { CliCodes } from './cli-codes.ts';
import { DeviceCodes } from './device-codes.ts';

/**
 * Approval by a user, with the text of the user's login key. That key must still be valid when the program
 * fetches its key, so that a sign-out or a disabled user voids the approval.
 */
export interface Approval {
  readonly key: string;
  /** Name of the new key in lists. */
  readonly displayName: string;
}

export class Programs {
  readonly codes: CliCodes<Approval & { readonly redirectUri: string }>;
  readonly devices: DeviceCodes<Approval>;

  constructor(clock: Clock) {
    this.codes = new CliCodes(clock);
    this.devices = new DeviceCodes(clock);
  }
}

const LONGEST = 100;

/** Text of a program about itself, made safe to show: one line, and short. */
export function shownText(text: string | undefined): string {
  const line = (text ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  if (line === '') return 'not told';
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
