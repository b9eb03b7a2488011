/** Access: why somebody may do something, who may, access keys and logins, teams and their members. */
import type { JSX } from 'preact';
import { NotFound } from '../components/not-found.tsx';
import { PageHead } from '../components/parts.tsx';
import { href } from '../location.ts';
import { AccessQuestion } from './access-question.tsx';
import { KeysTab } from './keys.tsx';
import { TeamsTab } from './teams.tsx';

const TABS = [
  { segment: '', label: 'Why', tab: () => <AccessQuestion mode="explain" /> },
  { segment: 'who', label: 'Who', tab: () => <AccessQuestion mode="who" /> },
  { segment: 'keys', label: 'Keys', tab: () => <KeysTab isLogins={false} /> },
  { segment: 'logins', label: 'Logins', tab: () => <KeysTab isLogins /> },
  { segment: 'teams', label: 'Teams', tab: () => <TeamsTab /> },
] as const;

export function AccessPage({ path }: { path: readonly string[] }): JSX.Element {
  const [first = ''] = path;
  const shown = TABS.find(({ segment }) => segment === first);
  if (shown === undefined || path.length > 1) return <NotFound />;
  return (
    <>
      <PageHead title="Access" documentTitle={`${shown.label} · Access`} />
      <nav class="tabs" aria-label="Parts of access">
        {TABS.map(({ segment, label }) => (
          <a
            key={segment}
            href={href(segment === '' ? ['access'] : ['access', segment])}
            aria-current={segment === shown.segment ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <div key={shown.segment}>{shown.tab()}</div>
    </>
  );
}
