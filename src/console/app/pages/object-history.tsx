/** Commits that changed an object: the difference of each, the comparison of two, and the way back. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { HistoryEntry } from '../../api/objects.ts';
import { Diff } from '../components/diff.tsx';
import { Icon } from '../components/icons.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Loading,
  Panel,
  Revision,
  Time,
  type Tone,
} from '../components/parts.tsx';
import { Signature } from '../components/signature.tsx';
import { errorOf, useLoad } from '../load.ts';
import { href, segments } from '../location.ts';
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
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [target, setTarget] = useState<{ entry: HistoryEntry; undone?: HistoryEntry }>();
  const choose = (revision: string): void =>
    setChosen((before) =>
      before.includes(revision)
        ? before.filter((one) => one !== revision)
        : [...before, revision].slice(-2),
    );
  if (error !== undefined && entries.length === 0) return <ErrorNotice error={error} />;
  if (isLoading && entries.length === 0) return <Loading />;
  return (
    <>
      {target === undefined ? undefined : (
        <Rollback {...{ resource, of, object }} {...target} onClose={() => setTarget(undefined)} />
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
                onRollback={index === 0 ? undefined : () => setTarget({ entry })}
                onUndo={undoOf(entries, index, setTarget)}
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
  const {
    revision,
    verb,
    message,
    author,
    time,
    path,
    previousPath,
    fields = [],
    degraded,
  } = entry;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <div class="row-line">
        <input
          type="checkbox"
          aria-label={`Compare ${revision.slice(0, 8)}`}
          checked={isChosen}
          onChange={onChoose}
        />
        <Badge tone={TONES[verb] ?? 'plain'}>{verb}</Badge>
        <span class="subject">{message}</span>
        <Signature of={entry.signature} />
        {degraded === true ? <Badge tone="alert">not valid</Badge> : undefined}
        <span class="end actions">
          <button
            type="button"
            class="button small"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            Changes
          </button>
          <a class="button small" href={href(segments.value, { at: revision })}>
            View
          </a>
          {onUndo === undefined ? undefined : (
            <button type="button" class="button small" onClick={onUndo}>
              <Icon name="undo" /> Undo
            </button>
          )}
          {onRollback === undefined || verb === 'deleted' ? undefined : (
            <button type="button" class="button small" onClick={onRollback}>
              <Icon name="undo" /> Roll back
            </button>
          )}
        </span>
      </div>
      <p class="muted entry-note">
        {author.name} · <Time value={time} /> · <Revision id={revision} />
        {previousPath === undefined ? undefined : ` · moved from ${previousPath} to ${path}`}
      </p>
      {fields.length > 0 ? (
        <ul class="chips entry-note">
          {fields.slice(0, 8).map((field) => (
            <li key={field} class="chip">
              {field}
            </li>
          ))}
          {fields.length > 8 ? <li class="muted">and {fields.length - 8} more</li> : undefined}
        </ul>
      ) : undefined}
      {isOpen ? (
        <TwoRevisions
          {...{ resource, of }}
          before={verb === 'created' ? undefined : previous?.revision}
          after={verb === 'deleted' ? undefined : revision}
        />
      ) : undefined}
    </>
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
