/** Result of patches on one object: each step, values that do not come back, and the object of both ends. */
import type { JSX } from 'preact';
import type { KubeObject } from '../../api/objects.ts';
import { textOf } from '../components/difference.tsx';
import { Badge, Notice, Panel, type Tone } from '../components/parts.tsx';
import { SideBySide } from '../components/plan-change.tsx';
import { count } from '../format.ts';

export interface Previewed {
  readonly before: KubeObject;
  readonly after?: KubeObject;
  readonly report: PatchReport;
  readonly roundTrip?: readonly RoundTripDifference[];
}

interface RoundTripDifference {
  readonly patch: number;
  readonly path: string;
  readonly before: unknown;
  readonly there?: unknown;
  readonly back?: unknown;
}

interface PatchReport {
  readonly patches: readonly PatchRun[];
  readonly durationMs: number;
  readonly fuel: number;
  readonly failure?: { readonly message?: string };
}

interface PatchRun {
  readonly patch: number;
  readonly path: string;
  readonly mode: string;
  readonly status: 'applied' | 'unchanged' | 'skipped' | 'failed';
  readonly skipped?: string;
  readonly missed: number;
  readonly unlisted?: number;
  readonly durationMs: number;
  readonly fuel?: number;
  readonly matches: readonly {
    readonly path: string;
    readonly change: string;
    readonly before?: unknown;
    readonly after?: unknown;
    readonly note?: string;
  }[];
  readonly failure?: { readonly message?: string };
}

const TONES: Readonly<Record<PatchRun['status'], Tone>> = {
  applied: 'good',
  unchanged: 'plain',
  skipped: 'plain',
  failed: 'alert',
};

const SKIPPED: Readonly<Record<string, string>> = {
  'no-match': 'The path leads nowhere in this object.',
  'no-expression': 'It has no expression for this direction.',
  'no-reverse-expression': 'It has no reverseExpression.',
  'earlier-patch-failed': 'An earlier patch failed.',
};

export function Outcome(props: {
  readonly previewed: Previewed;
  /** Takes the result as the object of the way back. */
  readonly onGoBack: (() => void) | undefined;
}): JSX.Element {
  const { previewed, onGoBack } = props;
  const { before, after, report, roundTrip = [] } = previewed;
  const { patches, durationMs, fuel, failure } = report;
  return (
    <>
      {after === undefined ? (
        <Notice tone="alert" title="A patch failed, so nothing would be written">
          <p class="message">{failure?.message}</p>
        </Notice>
      ) : undefined}
      <Panel
        title="Steps"
        aside={
          <span class="muted">
            {durationMs.toFixed(1)} ms, {count(fuel, 'unit')} of fuel
          </span>
        }
        flush
      >
        <ol class="rows">
          {patches.map((run) => (
            <li key={run.patch}>
              <Step run={run} />
            </li>
          ))}
        </ol>
      </Panel>
      {roundTrip.length === 0 ? undefined : (
        <Notice tone="warn" title="Values do not come back">
          <ul>
            {roundTrip.map((one) => (
              <li key={`${one.patch}:${one.path}`}>
                <code>{one.path}</code>: {textOf(one.before)} becomes {textOf(one.there ?? null)},
                and comes back as {textOf(one.back ?? null)}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <Panel
        title="Result"
        aside={
          onGoBack === undefined ? undefined : (
            <button type="button" class="button small" onClick={onGoBack}>
              Try the way back
            </button>
          )
        }
      >
        <SideBySide before={before} after={after} />
      </Panel>
    </>
  );
}

function Step({ run }: { run: PatchRun }): JSX.Element {
  const { path, mode, status, skipped, matches, missed, durationMs, fuel = 0, failure } = run;
  const { unlisted = 0 } = run;
  return (
    <>
      <div class="row-line">
        <code>{path}</code>
        <Badge tone="plain">{mode}</Badge>
        <Badge tone={TONES[status]}>{status}</Badge>
        <span class="end muted">
          {durationMs.toFixed(1)} ms, {count(fuel, 'unit')} of fuel
        </span>
      </div>
      {skipped === undefined ? undefined : <p class="muted">{SKIPPED[skipped] ?? skipped}</p>}
      {failure === undefined ? undefined : <p class="message">{failure.message}</p>}
      <ul class="plain">
        {matches.map(({ path: at, change, before, after, note }) => (
          <li key={at}>
            <code>{at === '' ? 'the whole object' : at}</code> {change}
            {before === undefined ? undefined : (
              <>
                {' '}
                <code class="value removed">{textOf(before)}</code>
              </>
            )}
            {after === undefined ? undefined : (
              <>
                {' → '}
                <code class="value added">{textOf(after)}</code>
              </>
            )}
            {note === undefined ? undefined : <span class="muted"> {note}</span>}
          </li>
        ))}
      </ul>
      {unlisted > 0 ? (
        <p class="muted">and {count(unlisted, 'match', 'matches')} more</p>
      ) : undefined}
      {missed > 0 ? (
        <p class="muted">{count(missed, 'branch', 'branches')} ended before the path did</p>
      ) : undefined}
    </>
  );
}
