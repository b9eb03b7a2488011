/** Commits of the branch: who changed what, when and why. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Commit } from '../../api/objects.ts';
import {
  Badge,
  Empty,
  ErrorNotice,
  Loading,
  PageHead,
  Panel,
  Revision,
  Time,
} from '../components/parts.tsx';
import { count } from '../format.ts';
import { errorOf } from '../load.ts';
import { at, href, momentOf } from '../location.ts';
import { objectHref } from '../resources.ts';
import { client } from '../session.ts';

const PAGE = 50;

export function HistoryPage(): JSX.Element {
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
      const { items, metadata } = await client.commits({ limit: PAGE, ...from });
      setState(({ commits }) => ({
        commits: token === undefined ? items : [...commits, ...items],
        token: metadata.continue,
        isLoading: false,
      }));
    } catch (error) {
      setState((before) => ({ ...before, isLoading: false, error: errorOf(error) }));
    }
  };
  useEffect(() => void load(), [at.value]);
  const { commits, token, error, isLoading } = state;
  return (
    <>
      <PageHead title="History" />
      {error === undefined ? undefined : <ErrorNotice error={error} />}
      {isLoading && commits.length === 0 ? <Loading /> : undefined}
      {commits.length === 0 ? undefined : (
        <Panel title="Commits of the branch" flush>
          <ol class="rows timeline">
            {commits.map((commit) => (
              <li key={commit.revision}>
                <CommitRow commit={commit} />
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
        <Empty>The branch has no commit yet.</Empty>
      ) : undefined}
    </>
  );
}

const MOST_SHOWN = 6;

function CommitRow({ commit }: { commit: Commit }): JSX.Element {
  const { revision, subject, message, author, time, files, fileCount } = commit;
  const body = reasonOf(message);
  return (
    <>
      <div class="row-line">
        <span class="subject">{subject}</span>
        <span class="end actions">
          <a class="button small" href={href([], { at: revision })}>
            View the platform
          </a>
        </span>
      </div>
      <p class="muted entry-note">
        {author.name} · <Time value={time} /> · <Revision id={revision} />
      </p>
      {body === '' ? undefined : <p class="message entry-note">{body}</p>}
      <ul class="entry-note files">
        {files.slice(0, MOST_SHOWN).map((file) => (
          <li key={file.path}>
            <Badge
              tone={
                file.change === 'added' ? 'good' : file.change === 'removed' ? 'alert' : 'plain'
              }
            >
              {file.change}
            </Badge>
            {file.objects.length === 0 ? <code>{file.path}</code> : undefined}
            {file.objects
              .slice(0, MOST_SHOWN)
              .map(({ group, kind, plural, namespace = '', name }) => (
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
    </>
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
