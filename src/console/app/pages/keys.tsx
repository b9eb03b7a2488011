/** Access keys and logins: last use and expiry; keys are created, rotated, disabled and revoked. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KubeObject, Resource } from '../../api/objects.ts';
import type { Rights } from '../../api/rights.ts';
import { Icon } from '../components/icons.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { Opened } from '../components/opened.tsx';
import { Badge, Empty, ErrorNotice, Loading, Notice, Panel, Time } from '../components/parts.tsx';
import { errorOf, useLoad } from '../load.ts';
import { objectHref, resources } from '../resources.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';
import { mintAccessKey } from './mint-key.ts';
import { NewKey } from './new-key.tsx';

/** More rows would take long to draw; the objects page has all of them. */
const MOST_SHOWN = 500;

export function KeysTab({ isLogins }: { isLogins: boolean }): JSX.Element {
  const resource = resources.value.find(({ name }) => name === 'ownedaccesskeys');
  if (resource === undefined) return <Loading />;
  return <Keys resource={resource} isLogins={isLogins} />;
}

interface Props {
  readonly resource: Resource;
  readonly isLogins: boolean;
}

function Keys({ resource, isLogins }: Props): JSX.Element {
  const [shown, setShown] = useState<{ readonly name: string; readonly key: string }>();
  const [isCreating, setCreating] = useState(false);
  const [failure, setFailure] = useState<Error>();
  const rights = useRights();
  const list = useLoad(
    (signal) => client.list(resource, { limit: MOST_SHOWN, signal }),
    [resource],
  );
  const done = (result?: { name: string; key: string }): void => {
    setFailure(undefined);
    setShown(result);
    setCreating(false);
    list.reload();
  };
  const items = (list.value?.items ?? []).filter((key) => isLogin(key) === isLogins);
  const act = (work: () => Promise<{ name: string; key: string } | undefined>): void => {
    work().then(done, (error: unknown) => setFailure(errorOf(error)));
  };
  return (
    <div class="stack">
      {rights === undefined ? undefined : isLogins || !rights.may('create', resource) ? (
        <KeysNotAllowed {...{ resource, isLogins, rights }} />
      ) : (
        <div class="actions">
          <button class="button primary" type="button" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            New access key
          </button>
        </div>
      )}
      {failure === undefined ? undefined : <ErrorNotice error={failure} />}
      {shown === undefined ? undefined : (
        <NewText name={shown.name} text={shown.key} onClose={() => setShown(undefined)} />
      )}
      {isCreating ? (
        <Opened onClose={() => setCreating(false)}>
          <NewKey resource={resource} onDone={done} onCancel={() => setCreating(false)} />
        </Opened>
      ) : undefined}
      {list.error === undefined ? undefined : <ErrorNotice error={list.error} />}
      <Panel title={isLogins ? 'Logins' : 'Access keys'} flush>
        {list.value === undefined && list.error === undefined ? <Loading /> : undefined}
        {list.value !== undefined && items.length === 0 ? (
          <Empty>There are none.</Empty>
        ) : undefined}
        {items.length === 0 ? undefined : (
          <div class="scroll">
            <table class="grid">
              <thead>
                <tr>
                  {['Name', 'Acts as', 'Scope', 'Last use', 'Ends', 'Actions'].map((title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.map((key) => (
                  <KeyRow
                    key={key.metadata.name}
                    object={key}
                    resource={resource}
                    isLogin={isLogins}
                    rights={rights}
                    act={act}
                  />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
    </div>
  );
}

/** The changes of keys that the person may not make. */
function KeysNotAllowed(props: Props & { readonly rights: Rights }): JSX.Element | null {
  const { resource, isLogins, rights } = props;
  const refused = [
    { verb: 'create', text: 'create access keys', isShown: !isLogins },
    { verb: 'patch', text: 'rotate or disable them', isShown: !isLogins },
    { verb: 'delete', text: isLogins ? 'end logins' : 'revoke them', isShown: true },
  ].filter(({ verb, isShown }) => isShown && !rights.may(verb, resource));
  const [first] = refused;
  if (first === undefined) return null;
  return (
    <p>
      <NotAllowed verb={first.verb} resource={resource}>
        You may not {refused.map(({ text }) => text).join(', ')}.
      </NotAllowed>
    </p>
  );
}

function isLogin({ spec }: KubeObject): boolean {
  return spec?.['type'] === 'Login';
}

function KeyRow(props: {
  object: KubeObject;
  resource: Resource;
  isLogin: boolean;
  /** Undefined: they are loading. */
  rights: Rights | undefined;
  act: (work: () => Promise<{ name: string; key: string } | undefined>) => void;
}): JSX.Element {
  const { object, resource, isLogin: isOfLogin, rights, act } = props;
  const { name } = object.metadata;
  const mayPatch = !isOfLogin && rights?.may('patch', resource, name) === true;
  const mayDelete = rights?.may('delete', resource, name) === true;
  const ref = { namespace: '', name };
  const { disabled, displayName, scope } = object.spec ?? {};
  const ends = endOf(object);
  const last = object.status?.['lastActivity'];
  const patch = async (spec: object): Promise<void> => {
    await client.send(client.objectPath(resource, ref), {
      method: 'PATCH',
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: object.metadata.resourceVersion }, spec },
    });
  };
  const rotate = async (): Promise<{ name: string; key: string }> => {
    const key = mintAccessKey('gpu');
    await patch({ key });
    return { name, key };
  };
  return (
    <tr>
      <th scope="row">
        <a href={objectHref(resource, ref)}>{name}</a>
        {typeof displayName === 'string' ? <div class="muted">{displayName}</div> : undefined}
        {disabled === true ? <Badge tone="warn">disabled</Badge> : undefined}
      </th>
      <td data-label="Acts as">{ownerOf(object)}</td>
      <td data-label="Scope">
        {scope === undefined ? 'everything of its owner' : <ScopeText scope={scope} />}
      </td>
      <td data-label="Last use" class="nowrap">
        {typeof last === 'string' ? <Time value={last} /> : 'not yet'}
      </td>
      <td data-label="Ends" class="nowrap">
        {ends === undefined ? 'never' : <Time value={ends} />}
      </td>
      <td>
        <div class="actions">
          {mayPatch ? (
            <Confirmed
              label="Rotate"
              of={name}
              text="The present key stops working at once."
              onYes={() => act(rotate)}
            />
          ) : undefined}
          {mayPatch ? (
            <button
              class="button small"
              type="button"
              aria-label={`${disabled === true ? 'Enable' : 'Disable'} ${name}`}
              onClick={() =>
                act(() => patch({ disabled: disabled !== true }).then(() => undefined))
              }
            >
              {disabled === true ? 'Enable' : 'Disable'}
            </button>
          ) : undefined}
          {mayDelete ? (
            <Confirmed
              label={isOfLogin ? 'End' : 'Revoke'}
              of={name}
              text={isOfLogin ? 'The person has to sign in again.' : 'It cannot be brought back.'}
              onYes={() => act(() => client.delete(resource, ref).then(() => undefined))}
            />
          ) : undefined}
        </div>
      </td>
    </tr>
  );
}

/** A button that asks once more, in place. */
function Confirmed(props: {
  label: string;
  of: string;
  text: string;
  onYes: () => void;
}): JSX.Element {
  const { label, of, text, onYes } = props;
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <button
        class="button small"
        type="button"
        aria-label={`${label} ${of}`}
        onClick={() => setAsking(true)}
      >
        {label}
      </button>
    );
  }
  return (
    <Opened onClose={() => setAsking(false)}>
      <span class="actions">
        <span class="muted">{text}</span>
        <button
          class="button small danger"
          type="button"
          onClick={() => {
            setAsking(false);
            onYes();
          }}
        >
          {label} {of}
        </button>
        <button class="button small" type="button" onClick={() => setAsking(false)}>
          Cancel
        </button>
      </span>
    </Opened>
  );
}

/** A new key, which nothing shows again. */
function NewText(props: { name: string; text: string; onClose: () => void }): JSX.Element {
  const { name, text, onClose } = props;
  const [isCopied, setCopied] = useState(false);
  return (
    <Notice tone="good" title={`The key of ${name} is shown once`}>
      <div class="once">
        <code>{text}</code>
        <button
          class="button small"
          type="button"
          onClick={() => {
            void navigator.clipboard.writeText(text).then(() => setCopied(true));
          }}
        >
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button class="button small" type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Notice>
  );
}

function ownerOf({ spec = {} }: KubeObject): string {
  const found = (['user', 'team', 'subject'] as const).find((field) => spec[field] !== undefined);
  return found === undefined ? 'nobody' : `${found} ${String(spec[found])}`;
}

function ScopeText({ scope }: { scope: unknown }): JSX.Element {
  const text = JSON.stringify(scope);
  return <code title={text}>{text.length > 80 ? `${text.slice(0, 80)}…` : text}</code>;
}

/** End by the time to live of the key, in milliseconds; undefined: none. */
function endOf({ spec = {}, metadata, status }: KubeObject): number | undefined {
  const { ttl, ttlAfterLastActivity } = spec;
  if (typeof ttl !== 'number' || ttl <= 0) return undefined;
  const last = status?.['lastActivity'];
  const start =
    ttlAfterLastActivity === true && typeof last === 'string' ? last : metadata.creationTimestamp;
  return start === undefined ? undefined : Date.parse(start) + ttl * 1000;
}
