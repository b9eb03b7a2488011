/**
 * An atomic push of the served branch together with other refs. Git runs the hook proc-receive before it
 * checks and locks the other refs. So that hook lands nothing here: the daemon lands the branch in the hook
 * reference-transaction, when git holds the locks of all others and only has to rename files.
 */
import type { PushVerdict } from './hook-protocol.ts';
import { linesOf, pktLine } from './pkt-line.ts';

/** Reasons that git gives for the refs of an atomic push that it has not refused themselves. */
const FAILED = /ng \S+ atomic (?:push failure|transaction failed)/;
/** Characters of a line that fit into one packet, of 65,520 bytes, in any script. */
const MAX_LINE = 16_000;

/** Packet that the client shows behind `remote: `. */
export function messagePacket(line: string): string {
  return pktLine(`\u0002${line.slice(0, MAX_LINE)}\n`);
}

export class AtomicPush {
  readonly #refs: readonly string[];
  readonly #isLandedHere: (ref: string) => boolean;
  /** Undefined: the branch was not landed, nor refused. */
  landed: PushVerdict | undefined;

  private constructor(refs: readonly string[], isLandedHere: (ref: string) => boolean) {
    this.#refs = refs;
    this.#isLandedHere = isLandedHere;
  }

  /** `head`: at least the commands of the push. Undefined: git alone, or the daemon alone, moves its refs. */
  static of(head: Buffer, procReceive: readonly string[]): AtomicPush | undefined {
    const lines = linesOf(head).map((line) => line.split('\0'));
    const capabilities = lines.flatMap(([, words]) => words?.trimEnd().split(' ') ?? []);
    if (!capabilities.includes('atomic')) return undefined;
    const refs = lines.flatMap(([line = '']) => COMMAND.exec(line.trimEnd())?.[1] ?? []);
    const isLandedHere = (ref: string): boolean =>
      procReceive.some((one) => ref === one || ref.startsWith(`${one}/`));
    const isMixed = refs.some(isLandedHere) && !refs.every(isLandedHere);
    return isMixed ? new AtomicPush(refs, isLandedHere) : undefined;
  }

  /** Packets for the end of the answer of git, whose last bytes are `tail`. */
  ending(tail: string): string {
    const { landed } = this;
    const hasFailed = FAILED.test(tail);
    if (landed === undefined) return hasFailed ? messagePacket(NOTHING_CHANGED) : '';
    const shown = landed.lines.map(messagePacket).join('');
    if (landed.ok) return hasFailed ? `${shown}${messagePacket(LANDED_ALONE)}` : shown;
    // Git has ended without a report when the hook refused.
    const { reason = 'refused' } = landed;
    const report = this.#refs.map((ref) =>
      pktLine(`ng ${ref} ${this.#isLandedHere(ref) ? reason : 'atomic push failure'}\n`),
    );
    const packets = [pktLine('unpack ok\n'), ...report, '0000'];
    return `${shown}${packets.map((packet) => pktLine(`\u0001${packet}`)).join('')}`;
  }
}

const COMMAND = /^[0-9a-f]{40} [0-9a-f]{40} (.+)$/;

const NOTHING_CHANGED =
  'nothing was changed, since git refused another ref of this atomic push: push the branch without it, or fetch first';
const LANDED_ALONE =
  'the branch has landed, and git failed to move the other refs: push those once more';
