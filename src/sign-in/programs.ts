/** Keys for programs that people sign in: what they agreed to, until the program fetches its key. */
import type { Clock } from '../apimachinery/index.ts';
import { CliCodes } from './cli-codes.ts';
import { DeviceCodes } from './device-codes.ts';

/**
 * Who agreed, by the text of their own login key: it has to work still when the program comes, so
 * that whoever signs out meanwhile, or is shut out, leaves nothing behind.
 */
export interface Agreed {
  readonly key: string;
  /** What the new key is called in lists. */
  readonly displayName: string;
}

export class Programs {
  readonly codes: CliCodes<Agreed & { readonly redirectUri: string }>;
  readonly devices: DeviceCodes<Agreed>;

  constructor(clock: Clock) {
    this.codes = new CliCodes(clock);
    this.devices = new DeviceCodes(clock);
  }
}

const LONGEST = 100;

/** What a program says of itself, as people can be shown it: one line, and short. */
export function shownText(text: string | undefined): string {
  const line = (text ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  if (line === '') return 'not told';
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
