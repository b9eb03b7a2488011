/**
 * Advertisement of refs for a push (gitprotocol-pack, "Reference Discovery"). It leaves the served
 * branch out, so that a client does not compare its commit with the branch and give up by itself. It
 * offers the newest tips as `.have` lines, so that the client sends only what is new.
 */
import { linesOf, pktLine } from './pkt-line.ts';

export interface OfferedTips {
  /** Full name of the ref to leave out. */
  readonly hidden: string;
  /** Commits that the repository has. */
  readonly tips: readonly string[];
}

/** Stands for the refs of a repository that has none. */
const NO_REFS = 'capabilities^{}';
const ID_DIGITS = 40;

/** Rewrites the advertisement of `git receive-pack`. */
export function offerTips(advertisement: Buffer, { hidden, tips }: OfferedTips): string {
  const lines = linesOf(advertisement);
  const capabilities = lines[0]?.split('\0')[1] ?? '';
  const refs = lines.map((line) => line.split('\0')[0]?.trimEnd() ?? '');
  const kept = refs.filter((line) => ![hidden, NO_REFS].includes(line.slice(ID_DIGITS + 1)));
  const known = new Set(refs.map((line) => line.slice(0, ID_DIGITS)));
  const branch = refs.find((line) => line.slice(ID_DIGITS + 1) === hidden);
  const newest = branch === undefined ? [] : [branch.slice(0, ID_DIGITS)];
  const haves = [...newest, ...tips.filter((tip) => !known.has(tip))].map((tip) => `${tip} .have`);
  const [first = `${'0'.repeat(ID_DIGITS)} ${NO_REFS}`, ...others] = [...kept, ...haves];
  const offered = [`${first}\0${capabilities.trimEnd()}`, ...others];
  return `${offered.map((line) => pktLine(`${line}\n`)).join('')}0000`;
}
