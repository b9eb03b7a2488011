/**
 * An atomic push of the served branch together with other refs. Git runs the hook proc-receive before it
 * checks and locks the other refs. So that hook lands nothing here: the daemon lands the branch in the hook
 * reference-transaction, when git holds the locks of all others and only has to rename files.
 */
import type { PushVerdict, RefUpdate } from './hook-protocol.ts';
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
  /** Undefined: the branch was not landed, nor refused. */
  landed: PushVerdict | undefined;
  #report: readonly string[] = [];

  /**
   * `head`: at least the commands of the push. Undefined: git alone, or the daemon alone, moves its refs. The
   * daemon does not judge what git would make of an unusual line, such as one of a push certificate.
   */
  static of(head: Buffer, procReceive: readonly string[]): AtomicPush | undefined {
    const lines = linesOf(head).map((line) => line.replace(/\n$/, '').split('\0'));
    if (!lines.some(([, capabilities = '']) => ATOMIC.test(capabilities))) return undefined;
    const commands = lines.map(([line = '']) => line).filter((line) => !SHALLOW.test(line));
    const isLandedHere = (command: string): boolean | undefined => {
      const ref = COMMAND.exec(command)?.[1];
      if (ref === undefined) return undefined;
      return procReceive.some((one) => ref === one || ref.startsWith(`${one}/`));
    };
    const areHere = new Set(commands.map(isLandedHere));
    return areHere.size > 1 || areHere.has(undefined) ? new AtomicPush() : undefined;
  }

  /** Refuses all refs. Git ends without a report when its hook refuses. */
  refuse(verdict: PushVerdict, updates: readonly RefUpdate[], branch: ReadonlySet<string>): void {
    this.landed = verdict;
    const { reason = 'refused' } = verdict;
    this.#report = updates.map(({ ref }) =>
      pktLine(`ng ${ref} ${branch.has(ref) ? reason : 'atomic push failure'}\n`),
    );
  }

  /** Packets for the end of the answer of git, whose last bytes are `tail`. */
  ending(tail: string): string {
    const { landed } = this;
    const hasFailed = FAILED.test(tail);
    if (landed === undefined) return hasFailed ? messagePacket(NOTHING_CHANGED) : '';
    const shown = landed.lines.map(messagePacket).join('');
    if (landed.ok) return hasFailed ? `${shown}${messagePacket(LANDED_ALONE)}` : shown;
    const packets = [pktLine('unpack ok\n'), ...this.#report, '0000'];
    return `${shown}${packets.map((packet) => pktLine(`\u0001${packet}`)).join('')}`;
  }
}

// As git reads them.
const ATOMIC = /(?:^|\s)atomic(?:[\s=]|$)/;
const SHALLOW = /^shallow /;
const COMMAND = /^[0-9a-f]{40} [0-9a-f]{40} (.+)$/i;

const NOTHING_CHANGED =
  'nothing was changed, since git refused another ref of this atomic push: push the branch without it, or fetch first';
const LANDED_ALONE =
  'the branch has landed, and git failed to move the other refs: push those once more';
