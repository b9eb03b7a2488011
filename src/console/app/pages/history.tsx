/** Commits of the branch: who changed what, when and why. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Commit } from '../../api/objects.ts';
import { CommitRow, useChosen } from '../components/commit-row.tsx';
import { lazy } from '../components/lazy.tsx';
import { NotFound } from '../components/not-found.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Loading,
  PageHead,
  Panel,
  type Tone,
} from '../components/parts.tsx';
import { count } from '../format.ts';
import { errorOf } from '../load.ts';
import { at, href, momentOf, query, setQuery } from '../location.ts';
import { objectHref } from '../resources.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';

const PAGE = 50;

const Compare = lazy(async () => (await import('./compare.tsx')).ComparePage);
const Changes = lazy(async () => (await import('../components/compared.tsx')).Compared);

export function HistoryPage({ path }: { path: readonly string[] }): JSX.Element {
  const [part] = path;
  if (part === undefined) return <Timeline />;
  return part === 'compare' ? <Compare /> : <NotFound />;
}

/** Commits of the branch, or those of a team. */
function Timeline(): JSX.Element {
  const team = query.value.get('team') ?? '';
  const [chosen, choose] = useChosen();
  const [state, setState] = useState<{
    commits: readonly Commit[];
    token?: string | undefined;
    error?: Error;
    isLoading: boolean;
  }>({ commits: [], isLoading: true });
  const load = async (token?: string): Promise<void> => {
    setState((before) => ({ ...before, isLoading: true }));
    try {
      const from = token === undefined ? momentOf(at.value) : { continue: token };
      const { items, metadata } = await client.commits({ limit: PAGE, team, ...from });
      setState(({ commits }) => ({
        commits: token === undefined ? items : [...commits, ...items],
        token: metadata.continue,
        isLoading: false,
      }));
    } catch (error) {
      setState((before) => ({ ...before, isLoading: false, error: errorOf(error) }));
    }
  };
  useEffect(() => void load(), [at.value, team]);
  const { commits, token, error, isLoading } = state;
  const mayClone = useRights()?.mayClone;
  return (
    <>
      <PageHead
        title={team === '' ? 'History' : `History of ${team}`}
        actions={mayClone === true ? <CompareLink commits={commits} chosen={chosen} /> : undefined}
      />
      {mayClone === false ? undefined : <TeamFilter team={team} />}
      {error === undefined ? undefined : <ErrorNotice error={error} />}
      {isLoading && commits.length === 0 ? <Loading /> : undefined}
      {commits.length === 0 ? undefined : (
        <Panel title="Commits of the branch" flush>
          <ol class="rows timeline">
            {commits.map((commit) => (
              <li key={commit.revision}>
                <BranchCommit
                  commit={commit}
                  isChosen={chosen.includes(commit.revision)}
                  onChoose={() => choose(commit.revision)}
                />
              </li>
            ))}
          </ol>
          {token === undefined ? undefined : (
            <div class="panel-foot">
              <button
                type="button"
                class="button"
                disabled={isLoading}
                onClick={() => void load(token)}
              >
                Older commits
              </button>
            </div>
          )}
        </Panel>
      )}
      {!isLoading && error === undefined && commits.length === 0 ? (
        <Empty>{team === '' ? 'The branch has no commit yet.' : 'No commit has changed it.'}</Empty>
      ) : undefined}
    </>
  );
}

/** Of the chosen commits; of the newest one with now if one is chosen. */
function CompareLink({
  commits,
  chosen,
}: {
  commits: readonly Commit[];
  chosen: readonly string[];
}): JSX.Element {
  const [newer, older] = commits.filter(({ revision }) => chosen.includes(revision));
  const from = older ?? newer;
  const to = older === undefined ? undefined : newer;
  const search = { from: from?.revision, to: to?.revision, at: undefined };
  return (
    <a class="button" href={href(['history', 'compare'], search)}>
      {to !== undefined ? 'Compare the two' : from !== undefined ? 'Compare with now' : 'Compare'}
    </a>
  );
}

function TeamFilter({ team }: { team: string }): JSX.Element {
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="visually-hidden">Team</span>
        <input
          type="search"
          placeholder="Team"
          value={team}
          onChange={(event) => setQuery({ team: event.currentTarget.value.trim() })}
        />
      </label>
    </form>
  );
}

const MOST_SHOWN = 6;

function BranchCommit(props: {
  readonly commit: Commit;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}): JSX.Element {
  const { commit, isChosen, onChoose } = props;
  const { revision, parents, message } = commit;
  const [parent] = parents;
  const body = reasonOf(message);
  return (
    <CommitRow
      {...{ commit, isChosen, onChoose }}
      changes={parent === undefined ? undefined : () => <Changes from={parent} to={revision} />}
      actions={
        <a class="button small" href={href([], { at: revision })}>
          View the platform
        </a>
      }
    >
      {body === '' ? undefined : <p class="message entry-note">{body}</p>}
      <Files {...commit} />
    </CommitRow>
  );
}

const FILE_TONES: Readonly<Record<string, Tone>> = { added: 'good', removed: 'alert' };

function Files({ files, fileCount }: Pick<Commit, 'files' | 'fileCount'>): JSX.Element {
  return (
    <ul class="entry-note files">
      {files.slice(0, MOST_SHOWN).map(({ path, change, objects }) => (
        <li key={path}>
          <Badge tone={FILE_TONES[change] ?? 'plain'}>{change}</Badge>
          {objects.length === 0 ? <code>{path}</code> : undefined}
          {objects.slice(0, MOST_SHOWN).map(({ group, kind, plural, namespace = '', name }) => (
            <span key={`${kind}/${namespace}/${name}`}>
              {plural === undefined ? (
                name
              ) : (
                <a
                  href={objectHref(
                    { group, name: plural },
                    { namespace, name },
                    { tab: 'history', at: undefined },
                  )}
                >
                  {kind} {[namespace, name].filter(Boolean).join('/')}
                </a>
              )}
            </span>
          ))}
        </li>
      ))}
      {fileCount > MOST_SHOWN ? (
        <li class="muted">and {count(fileCount - MOST_SHOWN, 'more file')}</li>
      ) : undefined}
    </ul>
  );
}

const TRAILER = /^[A-Za-z][\w-]*: /;

/** The paragraphs between the subject and the trailers. */
function reasonOf(message: string): string {
  const [, ...paragraphs] = message.trim().split(/\n\n+/);
  return paragraphs
    .filter((text) => !text.split('\n').every((line) => TRAILER.test(line)))
    .join('\n\n');
}
