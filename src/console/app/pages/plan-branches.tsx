/** Branches of the repository: each link plans one. */
import type { JSX } from 'preact';
import type { BranchList } from '../../../client/index.ts';
import { Empty, ErrorNotice, Loading, Panel, Revision, Time } from '../components/parts.tsx';
import type { Loaded } from '../load.ts';
import { href } from '../location.ts';

export function Branches({ list }: { list: Loaded<BranchList> }): JSX.Element {
  const { value, error } = list;
  if (error !== undefined) return <ErrorNotice title="Branches are not listed" error={error} />;
  if (value === undefined) return <Loading />;
  const { items, metadata } = value;
  return (
    <Panel
      title="Branches"
      aside={metadata.hasMore === true ? <span class="muted">the newest ones</span> : undefined}
      flush
    >
      {items.length === 0 ? <Empty>The repository has no branch yet.</Empty> : undefined}
      <ul class="rows">
        {items.map(({ name, revision, time, author, subject }) => (
          <li key={name}>
            <div class="row-line">
              <a class="row-title" href={href(['plan'], { of: name })}>
                {name}
              </a>
              <span>{subject}</span>
            </div>
            <p class="muted entry-note">
              {author} · <Time value={time} /> · <Revision id={revision} />
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
