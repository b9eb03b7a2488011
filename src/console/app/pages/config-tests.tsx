/** Tests of what the configuration connects to: sign-in connectors and the secret store. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, ErrorNotice, Loading, Panel } from '../components/parts.tsx';
import { errorOf, useLoad } from '../load.ts';
import { client } from '../session.ts';

/** Each connector that leads to a provider, with a test. */
export function ConnectorTests(): JSX.Element | null {
  const info = useLoad((signal) => client.api.get('/auth/info', { signal }), []);
  const connectors = info.value?.methods.sso ?? [];
  if (connectors.length === 0) return null;
  return (
    <Panel title="Sign-in connectors" flush>
      <ul class="rows">
        {connectors.map(({ displayName, loginEndpoint }) => (
          <li key={loginEndpoint}>
            <ConnectorTest name={displayName} path={loginEndpoint} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function ConnectorTest({ name, path }: { name: string; path: string }): JSX.Element {
  const [answer, setAnswer] = useState<{ readonly works: boolean; readonly text: string }>();
  const [isBusy, setBusy] = useState(false);
  const test = (): void => {
    setBusy(true);
    void testConnector(path)
      .then(setAnswer)
      .finally(() => setBusy(false));
  };
  return (
    <div class="row-line">
      <span class="row-title">{name}</span>
      <span aria-live="polite">
        {answer === undefined ? undefined : (
          <Badge tone={answer.works ? 'good' : 'alert'}>{answer.text}</Badge>
        )}
      </span>
      <button
        class="button small end"
        type="button"
        disabled={isBusy}
        aria-label={`Test ${name}`}
        onClick={test}
      >
        {isBusy ? 'Testing…' : 'Test'}
      </button>
    </div>
  );
}

/** Begins a sign-in without following it: the daemon asks the provider for what it needs first. */
async function testConnector(path: string): Promise<{ works: boolean; text: string }> {
  try {
    const response = await fetch(path, { redirect: 'manual', headers: { accept: 'text/html' } });
    const works = response.type === 'opaqueredirect' || response.ok;
    const text = works ? 'sign-in begins' : `refused with status ${response.status}`;
    return { works, text };
  } catch (error) {
    return { works: false, text: errorOf(error).message };
  }
}

/** Runs a cycle with the secret store, and shows what it answers. */
export function StoreTest({ isAllowed }: { isAllowed: boolean }): JSX.Element {
  const report = useLoad((signal) => client.api.get('/secret-store', { signal }), []);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error>();
  const test = (): void => {
    setBusy(true);
    setFailure(undefined);
    client.api
      .post('/secret-store/sync', { query: { wait: true, timeout: '20s' } })
      .then(report.reload, (error: unknown) => setFailure(errorOf(error)))
      .finally(() => setBusy(false));
  };
  if (report.error !== undefined) {
    return (
      <ErrorNotice title="The state of the secret store cannot be shown" error={report.error} />
    );
  }
  if (report.value === undefined) return <Loading />;
  const { stores = [], ...own } = report.value;
  return (
    <Panel
      title="Secret store"
      aside={
        isAllowed ? (
          <button class="button small" type="button" disabled={isBusy} onClick={test}>
            {isBusy ? 'Testing…' : 'Test now'}
          </button>
        ) : (
          <span class="muted">A test takes the right to post /secret-store/sync.</span>
        )
      }
    >
      {failure === undefined ? undefined : <ErrorNotice error={failure} />}
      <ul class="plain" aria-live="polite">
        {[own, ...stores].map(({ name, state, message, address }) => (
          <li key={name}>
            <Badge tone={state === 'available' ? 'good' : state === 'disabled' ? 'plain' : 'alert'}>
              {state}
            </Badge>{' '}
            {name} {address} <span class="message">{message}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
