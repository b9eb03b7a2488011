/** A held commit on the start page: the reason, what it would remove, and the approval. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { HeldSummary } from '../../api/summary.ts';
import { ErrorNotice, Panel, Revision } from '../components/parts.tsx';
import { count, withShortRevisions } from '../format.ts';
import { errorOf } from '../load.ts';
import { client } from '../session.ts';

/** A held commit, and its approval for those who may. */
export function Held({ held }: { held: HeldSummary }): JSX.Element {
  const { revision, message, remedy, prunes, pruneCount, mayApprove } = held;
  return (
    <Panel
      title="Held"
      class="accented"
      aside={revision === null ? undefined : <Revision id={revision} />}
    >
      <p>{withShortRevisions(message)}</p>
      <p class="muted">{remedy}</p>
      {pruneCount > 0 ? (
        <details>
          <summary>{count(pruneCount, 'object')} would be removed</summary>
          <ul class="plain">
            {prunes.map(({ kind, namespace, name, path }) => (
              <li key={`${kind}/${namespace}/${name}`}>
                {kind} <strong>{[namespace, name].filter(Boolean).join('/')}</strong>{' '}
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </details>
      ) : undefined}
      {mayApprove === true && revision !== null ? <Approve revision={revision} /> : undefined}
    </Panel>
  );
}

function Approve({ revision }: { revision: string }): JSX.Element {
  const [reason, setReason] = useState('');
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  const approve = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      await client.approve(revision, reason);
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, error: errorOf(error) });
    }
  };
  return (
    <form class="inline-form" onSubmit={(event) => void approve(event)}>
      <label>
        Reason
        <input
          required
          maxLength={1024}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          placeholder="Goes into the log"
        />
      </label>
      <button type="submit" class="button primary" disabled={state.isBusy}>
        Approve
      </button>
      {state.error === undefined ? undefined : <ErrorNotice error={state.error} />}
    </form>
  );
}
