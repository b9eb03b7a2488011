/** Two moments of the whole platform compared. */
import type { JSX } from 'preact';
import { Compared } from '../components/compared.tsx';
import { Empty, Notice, PageHead, Panel } from '../components/parts.tsx';
import { href, query, setQuery } from '../location.ts';
import { useRights } from '../rights.ts';

export function ComparePage(): JSX.Element {
  const from = query.value.get('from') ?? '';
  const to = query.value.get('to') ?? '';
  const mayClone = useRights()?.mayClone;
  const compare = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const textOf = (name: string): string => String(form.get(name) ?? '').trim();
    setQuery({ from: textOf('from'), to: textOf('to') });
  };
  return (
    <>
      <PageHead
        title="Compare"
        above={
          <nav class="crumbs" aria-label="Path">
            <a href={href(['history'])}>History</a>
          </nav>
        }
      />
      {mayClone === false ? (
        <Notice tone="info" title="You may not compare moments of the platform">
          <p>It takes the right to clone the repository.</p>
        </Notice>
      ) : (
        <>
          <form class="inline-form spaced" key={`${from} ${to}`} onSubmit={compare}>
            <label>
              From
              <input name="from" required defaultValue={from} placeholder="Commit or time" />
            </label>
            <label>
              To
              <input name="to" defaultValue={to} placeholder="Now" />
            </label>
            <button type="submit" class="button primary">
              Compare
            </button>
          </form>
          <Panel title="Differences" flush>
            {from === '' ? (
              <Empty>Give two moments: a commit, or a time such as 2026-01-31T09:30:00Z.</Empty>
            ) : (
              <Compared key={`${from} ${to}`} from={from} to={to} />
            )}
          </Panel>
        </>
      )}
    </>
  );
}
