/** The moment that all pages show: a slider over the commits of the branch, or a time. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Commit } from '../../api/objects.ts';
import { dateTime, shortRevision } from '../format.ts';
import { errorOf } from '../load.ts';
import { at, momentOf, setQuery } from '../location.ts';
import { client } from '../session.ts';
import { Icon } from './icons.tsx';

const isOpen = signal(false);
const PAGE = 200;

export function TimeButton(): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button time-button"
      aria-label="Time travel"
      title="Time travel"
      aria-pressed={at.value !== ''}
      aria-expanded={isOpen.value || at.value !== ''}
      onClick={() => {
        if (at.value !== '') setQuery({ at: undefined });
        isOpen.value = at.value === '' && !isOpen.value;
      }}
    >
      <Icon name="clock" />
    </button>
  );
}

export function PastBar(): JSX.Element | null {
  return isOpen.value || at.value !== '' ? <OpenBar /> : null;
}

function OpenBar(): JSX.Element {
  const { commits, hasMore, more, error } = useCommits();
  const shown = commits.find(({ revision }) => revision === at.value);
  const place = shown === undefined ? commits.length - 1 : commits.indexOf(shown);
  const isPast = at.value !== '';
  return (
    <section
      class={isPast ? 'past past-active' : 'past'}
      aria-label="Time"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || isPast) return;
        isOpen.value = false;
        document.querySelector<HTMLElement>('.time-button')?.focus();
      }}
    >
      <div class="row-line">
        <Icon name="clock" />
        <strong>{isPast ? 'The past' : 'Now'}</strong>
        <span class="past-text" role="status">
          {textOf(shown)}
        </span>
        <span class="end actions">
          <label class="past-time">
            <span class="visually-hidden">Time</span>
            <input
              type="datetime-local"
              onChange={(event) => {
                const { value } = event.currentTarget;
                if (value !== '') setQuery({ at: new Date(value).toISOString() });
              }}
            />
          </label>
          <button
            type="button"
            class="button small"
            onClick={() => {
              isOpen.value = false;
              setQuery({ at: undefined });
            }}
          >
            {isPast ? 'Back to now' : 'Close'}
          </button>
        </span>
      </div>
      {error === undefined ? (
        <div class="past-slider">
          {hasMore ? (
            <button type="button" class="button small" onClick={more}>
              Older
            </button>
          ) : undefined}
          <input
            type="range"
            min={0}
            max={Math.max(commits.length - 1, 0)}
            value={place}
            disabled={commits.length === 0}
            aria-label="Commit"
            aria-valuetext={
              shown === undefined ? 'now' : `${shown.subject}, ${dateTime(shown.time)}`
            }
            onInput={(event) => {
              const commit = commits[Number(event.currentTarget.value)];
              const isNewest = commit === commits.at(-1);
              setQuery({ at: isNewest ? undefined : commit?.revision });
            }}
          />
        </div>
      ) : (
        <p class="muted">{error.message}</p>
      )}
    </section>
  );
}

function textOf(shown: Commit | undefined): string {
  if (shown !== undefined) {
    return `${dateTime(shown.time)}: ${shown.subject} (${shown.author.name})`;
  }
  const { atTime, atRevision } = momentOf(at.value);
  if (atTime !== undefined) return `as of ${dateTime(atTime)}`;
  return atRevision === undefined
    ? 'Move the slider to see every page as it was'
    : `as of commit ${shortRevision(atRevision)}`;
}

/** Oldest first, as the slider has them. */
function useCommits(): {
  readonly commits: readonly Commit[];
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly error: Error | undefined;
} {
  const [commits, setCommits] = useState<readonly Commit[]>([]);
  const [token, setToken] = useState<string>();
  const [error, setError] = useState<Error>();
  const load = async (from?: string): Promise<void> => {
    try {
      const { items, metadata } = await client.commits({ limit: PAGE, continue: from });
      setCommits((known) => [...[...items].reverse(), ...(from === undefined ? [] : known)]);
      setToken(metadata.continue);
    } catch (problem) {
      setError(errorOf(problem));
    }
  };
  useEffect(() => void load(), []);
  return {
    commits,
    hasMore: token !== undefined,
    more: () => void load(token),
    error,
  };
}
