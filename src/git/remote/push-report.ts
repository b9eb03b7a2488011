/** What `git push --porcelain` says about the one ref it was to move. */

export type PushResult =
  /** The remote has it, now or before. */
  | { readonly ended: 'accepted' }
  /** The remote's branch is elsewhere, or was being moved by somebody else. */
  | { readonly ended: 'moved' }
  /** The remote does not want it; its reason in a few words. */
  | { readonly ended: 'refused'; readonly reason: string }
  /** No word about the ref, or none that tells whether it moved. */
  | { readonly ended: 'untold' };

/** `<flag> TAB <from>:<to> TAB <summary> [(<reason>)]` */
const LINE = /^([ +\-*!=])\t[^\t]*:(refs\/[^\t]+)\t(.*)$/;
const REASON = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$/;

/** Somebody else was quicker, in the words of git's own server and of the usual forges. */
const LOST_RACE =
  /stale info|fetch first|non-fast-forward|cannot lock ref|failed to lock|failed to update ref|incorrect old value|reference already exists|atomic|fast-forward/i;

export function readPushReport(stdout: string, ref: string): PushResult {
  for (const line of stdout.split('\n')) {
    const [, flag, to, summary = ''] = LINE.exec(line) ?? [];
    if (flag === undefined || to !== ref) continue;
    return flag === '!' ? rejection(summary) : { ended: 'accepted' };
  }
  return { ended: 'untold' };
}

function rejection(summary: string): PushResult {
  const reason = REASON.exec(summary)?.[1] ?? '';
  if (summary.startsWith('[remote failure]')) return { ended: 'untold' };
  if (LOST_RACE.test(reason)) return { ended: 'moved' };
  return { ended: 'refused', reason };
}
