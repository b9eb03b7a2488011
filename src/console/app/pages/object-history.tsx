/** Commits that changed an object: the difference of each, the comparison of two, and the way back. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { HistoryEntry } from '../../api/objects.ts';
import { CommitRow, useChosen } from '../components/commit-row.tsx';
import { Diff } from '../components/diff.tsx';
import { Icon } from '../components/icons.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { Badge, Empty, ErrorNotice, Loading, Panel, type Tone } from '../components/parts.tsx';
import { errorOf, useLoad } from '../load.ts';
import { href, segments } from '../location.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';
import { Rollback } from './rollback.tsx';

const PAGE = 50;
const TONES: Readonly<Record<string, Tone>> = {
  created: 'good',
  deleted: 'alert',
  updated: 'info',
};

export function ObjectHistory({ resource, of, object }: ObjectTabProps): JSX.Element {
  const { entries, error, more, isLoading } = useEntries({ resource, of, object });
  const [chosen, choose] = useChosen();
  const [target, setTarget] = useState<{ entry: HistoryEntry; undone?: HistoryEntry }>();
  const rights = useRights(of.namespace);
  // An object that is gone is created anew.
  const verb = object === undefined ? 'create' : 'update';
  const isAllowed = rights?.may(verb, resource, object) === true;
  if (error !== undefined && entries.length === 0) return <ErrorNotice error={error} />;
  if (isLoading && entries.length === 0) return <Loading />;
  return (
    <>
      {target === undefined || rights === undefined ? undefined : (
        <Rollback
          {...{ resource, of, object }}
          {...target}
          mayClone={rights.mayClone}
          onClose={() => setTarget(undefined)}
        />
      )}
      {rights === undefined || isAllowed || entries.length < 2 ? undefined : (
        <p class="spaced">
          <NotAllowed verb={verb} resource={resource} of={of}>
            You may not roll it back: that takes the right to {verb} it.
          </NotAllowed>
        </p>
      )}
      {chosen.length === 2 ? <Comparison {...{ resource, of, entries, chosen }} /> : undefined}
      <Panel
        title="History"
        flush
        aside={<span class="muted">Choose two commits to compare them</span>}
      >
        {entries.length === 0 ? <Empty>No commit has changed it.</Empty> : undefined}
        <ol class="rows timeline">
          {entries.map((entry, index) => (
            <li key={entry.revision}>
              <Entry
                {...{ resource, of, object, entry }}
                previous={entries[index + 1]}
                isChosen={chosen.includes(entry.revision)}
                onChoose={() => choose(entry.revision)}
                onRollback={index === 0 || !isAllowed ? undefined : () => setTarget({ entry })}
                onUndo={isAllowed ? undoOf(entries, index, setTarget) : undefined}
              />
            </li>
          ))}
        </ol>
        {more === undefined ? undefined : (
          <div class="panel-foot">
            <button type="button" class="button" onClick={more} disabled={isLoading}>
              Older commits
            </button>
          </div>
        )}
      </Panel>
    </>
  );
}

/** The newest change alone can be taken back without those after it. */
function undoOf(
  entries: readonly HistoryEntry[],
  index: number,
  choose: (target: { entry: HistoryEntry; undone: HistoryEntry }) => void,
): (() => void) | undefined {
  const [undone, entry] = entries;
  if (index !== 0 || undone === undefined || entry === undefined) return undefined;
  if (entry.verb === 'deleted') return undefined;
  return () => choose({ entry, undone });
}

function useEntries({ resource, of, object }: ObjectTabProps) {
  const [pages, setPages] = useState<readonly HistoryEntry[]>([]);
  const [token, setToken] = useState<string>();
  const first = useLoad(async () => {
    const page = await client.history(resource, of, { limit: PAGE });
    setPages([]);
    setToken(page.metadata.continue);
    return page.items;
  }, [object?.metadata.resourceVersion]);
  const [error, setError] = useState<Error>();
  const more = async (): Promise<void> => {
    try {
      const page = await client.history(resource, of, { limit: PAGE, continue: token ?? '' });
      setPages([...pages, ...page.items]);
      setToken(page.metadata.continue);
    } catch (problem) {
      setError(errorOf(problem));
    }
  };
  return {
    entries: [...(first.value ?? []), ...pages],
    error: first.error ?? error,
    isLoading: first.isLoading,
    more: token === undefined ? undefined : () => void more(),
  };
}

function Entry(
  props: ObjectTabProps & {
    readonly entry: HistoryEntry;
    readonly previous: HistoryEntry | undefined;
    readonly isChosen: boolean;
    readonly onChoose: () => void;
    readonly onRollback: (() => void) | undefined;
    readonly onUndo: (() => void) | undefined;
  },
): JSX.Element {
  const { resource, of, entry, previous, isChosen, onChoose, onRollback, onUndo } = props;
  const { revision, verb, message, path, previousPath, fields = [], degraded } = entry;
  const compared = {
    before: verb === 'created' ? undefined : previous?.revision,
    after: verb === 'deleted' ? undefined : revision,
  };
  return (
    <CommitRow
      {...{ isChosen, onChoose }}
      commit={{ ...entry, subject: message }}
      before={<Badge tone={TONES[verb] ?? 'plain'}>{verb}</Badge>}
      after={degraded === true ? <Badge tone="alert">not valid</Badge> : undefined}
      changes={() => <TwoRevisions {...{ resource, of }} {...compared} />}
      actions={
        <>
          <a class="button small" href={href(segments.value, { at: revision })}>
            View
          </a>
          {onUndo === undefined ? undefined : <Back label="Undo" onClick={onUndo} />}
          {onRollback === undefined || verb === 'deleted' ? undefined : (
            <Back label="Roll back" onClick={onRollback} />
          )}
        </>
      }
      note={previousPath === undefined ? undefined : ` · moved from ${previousPath} to ${path}`}
    >
      {fields.length > 0 ? (
        <ul class="chips entry-note">
          {fields.slice(0, MOST_FIELDS).map((field) => (
            <li key={field} class="chip">
              {field}
            </li>
          ))}
          {fields.length > MOST_FIELDS ? (
            <li class="muted">and {fields.length - MOST_FIELDS} more</li>
          ) : undefined}
        </ul>
      ) : undefined}
    </CommitRow>
  );
}

const MOST_FIELDS = 8;

function Back({ label, onClick }: { label: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="button small" onClick={onClick}>
      <Icon name="undo" /> {label}
    </button>
  );
}

function Comparison(
  props: Pick<ObjectTabProps, 'resource' | 'of'> & {
    readonly entries: readonly HistoryEntry[];
    readonly chosen: readonly string[];
  },
): JSX.Element {
  const { resource, of, entries, chosen } = props;
  const [after, before] = entries.filter(({ revision }) => chosen.includes(revision));
  return (
    <Panel title="Comparison" flush class="spaced">
      <TwoRevisions {...{ resource, of }} before={before?.revision} after={after?.revision} />
    </Panel>
  );
}

/** The manifest at two commits. Absent: there is none. */
function TwoRevisions(
  props: Pick<ObjectTabProps, 'resource' | 'of'> & {
    readonly before: string | undefined;
    readonly after: string | undefined;
  },
): JSX.Element {
  const { resource, of, before, after } = props;
  const { value, error } = useLoad(async () => {
    const [a, b] = await Promise.all(
      [before, after].map(async (revision) =>
        revision === undefined ? '' : await textAt({ resource, of }, revision),
      ),
    );
    return { before: a ?? '', after: b ?? '' };
  }, [before, after]);
  if (error !== undefined) return <ErrorNotice error={error} />;
  return value === undefined ? <Loading /> : <Diff {...value} label="Difference" />;
}

/** As in git, or as the API shows it to those who may not clone. */
async function textAt(
  { resource, of }: Pick<ObjectTabProps, 'resource' | 'of'>,
  revision: string,
): Promise<string> {
  const at = { atRevision: revision };
  const { text } = await client.source(resource, of, at);
  return text ?? (await client.getYaml(resource, of, at));
}
