/** Parser for the output of `git push --porcelain` about one ref. */

export type PushReport =
  /** The remote has the commit, now or before. */
  | { readonly ended: 'accepted' }
  /** The branch of the remote is elsewhere, or another process was moving it. */
  | { readonly ended: 'moved' }
  /** The remote refuses it, with a short reason. */
  | { readonly ended: 'refused'; readonly reason: string }
  /** The output does not say if the ref moved. */
  | { readonly ended: 'unknown' };

/** `<flag> TAB <from>:<to> TAB <summary> [(<reason>)]` */
const LINE = /^([ +\-*!=])\t[^\t]*:(refs\/[^\t]+)\t(.*)$/;
const REASON = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$/;

/** Another push was faster, in the words of the git server and of the usual forges. */
const LOST_RACE =
  /stale info|fetch first|non-fast-forward|cannot lock ref|failed to lock|failed to update ref|incorrect old value|reference already exists|atomic|fast-forward/i;

export function readPushReport(stdout: string, ref: string): PushReport {
  for (const line of stdout.split('\n')) {
    const [, flag, to, summary = ''] = LINE.exec(line) ?? [];
    if (flag === undefined || to !== ref) continue;
    return flag === '!' ? rejection(summary) : { ended: 'accepted' };
  }
  return { ended: 'unknown' };
}

function rejection(summary: string): PushReport {
  const reason = REASON.exec(summary)?.[1] ?? '';
  if (summary.startsWith('[remote failure]')) return { ended: 'unknown' };
  if (LOST_RACE.test(reason)) return { ended: 'moved' };
  return { ended: 'refused', reason };
}
