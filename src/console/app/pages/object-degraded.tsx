/** A degraded object: the problem of its newest manifest, who made it, and the way back. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { HistoryEntry } from '../../api/objects.ts';
import { NotAllowed } from '../components/not-allowed.tsx';
import { Notice, Revision, Time } from '../components/parts.tsx';
import { isDegraded } from '../health.ts';
import { useLoad } from '../load.ts';
import { at } from '../location.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';
import { Rollback } from './rollback.tsx';

/** Commits that are searched for the last good version. */
const MOST_COMMITS = 100;

export function DegradedObject(props: ObjectTabProps): JSX.Element | null {
  const { resource, of, object } = props;
  if (object === undefined || !isDegraded(object) || at.value !== '') return null;
  const hasHistory = resource.subresources.includes('rollback');
  const { message = '' } = object.status?.conditions?.find(({ type }) => type === 'Degraded') ?? {};
  return (
    <>
      <Notice tone="alert" title="The newest manifest is not valid">
        <p class="message">{message}</p>
        <p>Readers get the last good version until the manifest is mended.</p>
      </Notice>
      {hasHistory ? <Remedy key={`${of.namespace}/${of.name}`} {...props} /> : undefined}
    </>
  );
}

function Remedy(props: ObjectTabProps): JSX.Element | null {
  const { resource, of, object } = props;
  const [isOpen, setOpen] = useState(false);
  const rights = useRights(of.namespace);
  const history = useLoad(
    () => client.history(resource, of, { limit: MOST_COMMITS }),
    [object?.metadata.resourceVersion],
  );
  const { broken, good } = breakIn(history.value?.items ?? []);
  if (broken === undefined) return null;
  if (isOpen && good !== undefined && rights !== undefined) {
    const { mayClone } = rights;
    const close = (): void => setOpen(false);
    return (
      <Rollback
        {...props}
        {...{ mayClone }}
        entry={good}
        undone={broken}
        verb="Restore"
        onClose={close}
      />
    );
  }
  return (
    <p class="row-line remedy">
      <span>
        Since <strong>{broken.message}</strong> by {broken.author.name},{' '}
        <Time value={broken.time} />, <Revision id={broken.revision} />
      </span>
      {good === undefined || rights === undefined ? undefined : rights.may(
          'update',
          resource,
          object,
        ) ? (
        <button type="button" class="button" onClick={() => setOpen(true)}>
          Restore the last good version
        </button>
      ) : (
        <NotAllowed verb="update" resource={resource} of={of}>
          You may not restore the last good version.
        </NotAllowed>
      )}
    </p>
  );
}

/** The commit that made the object degraded, and the newest good one before it. */
function breakIn(entries: readonly HistoryEntry[]): {
  readonly broken?: HistoryEntry | undefined;
  readonly good?: HistoryEntry | undefined;
} {
  const found = entries.findIndex(({ degraded }) => degraded !== true);
  if (found < 0) return { broken: entries.at(-1) };
  return { broken: entries[found - 1], good: entries[found] };
}
