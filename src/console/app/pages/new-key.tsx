/** Form for a new access key: owner, lifetime, and a scope that is chosen by clicking. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KubeObject, Resource } from '../../api/objects.ts';
import { ErrorNotice, Panel } from '../components/parts.tsx';
import { errorOf } from '../load.ts';
import { listed, resources, titleOf } from '../resources.ts';
import { client, session } from '../session.ts';

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const;
const LIFETIMES: readonly (readonly [string, string])[] = [
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['2592000', '30 days'],
  ['31536000', '1 year'],
  ['', 'For ever'],
];

interface Draft {
  readonly name: string;
  readonly owner: 'user' | 'team';
  readonly of: string;
  readonly ttl: string;
  readonly isNarrow: boolean;
  readonly verbs: readonly string[];
  readonly kinds: readonly string[];
}

export function NewKey(props: {
  resource: Resource;
  onDone: (made: { name: string; key: string }) => void;
  onCancel: () => void;
}): JSX.Element {
  const { resource, onDone, onCancel } = props;
  const [draft, setDraft] = useState<Draft>({
    ...{ name: '', owner: 'user', of: session.user, ttl: '2592000', isNarrow: true },
    ...{ verbs: ['get', 'list', 'watch'], kinds: [] },
  });
  const [failure, setFailure] = useState<Error>();
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const create = async (): Promise<void> => {
    const made = await client.json<KubeObject>(client.pathOf(resource), {
      method: 'POST',
      body: keyOf(draft),
    });
    onDone({ name: made.metadata.name, key: String(made.spec?.['key'] ?? '') });
  };
  const isEmpty = draft.isNarrow && (draft.verbs.length === 0 || draft.kinds.length === 0);
  return (
    <Panel title="New access key">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          create().catch((error: unknown) => setFailure(errorOf(error)));
        }}
      >
        <div class="form-grid">
          <label>
            Name
            <input
              value={draft.name}
              autocomplete="off"
              placeholder="chosen by the server"
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
          </label>
          <label>
            Acts as
            <select
              value={draft.owner}
              onChange={(event) =>
                set({ owner: event.currentTarget.value === 'team' ? 'team' : 'user' })
              }
            >
              <option value="user">User</option>
              <option value="team">Team</option>
            </select>
          </label>
          <label>
            {draft.owner === 'user' ? 'User name' : 'Team name'}
            <input
              value={draft.of}
              required
              autocomplete="off"
              onInput={(event) => set({ of: event.currentTarget.value })}
            />
          </label>
          <label>
            Lifetime
            <select value={draft.ttl} onChange={(event) => set({ ttl: event.currentTarget.value })}>
              {LIFETIMES.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="checks">
          <label>
            <input
              type="checkbox"
              checked={draft.isNarrow}
              onChange={(event) => set({ isNarrow: event.currentTarget.checked })}
            />
            Narrow it to some kinds and verbs
          </label>
        </div>
        {draft.isNarrow ? (
          <>
            <Choice
              title="Kinds"
              all={listed(resources.value)
                .filter(({ group }) => group === session.group)
                .map((one) => [one.name, titleOf(one)] as const)}
              chosen={draft.kinds}
              onChange={(kinds) => set({ kinds })}
            />
            <Choice
              title="Verbs"
              all={VERBS.map((verb) => [verb, verb] as const)}
              chosen={draft.verbs}
              onChange={(verbs) => set({ verbs })}
            />
          </>
        ) : undefined}
        {failure === undefined ? undefined : <ErrorNotice error={failure} />}
        <div class="actions">
          <button class="button primary" type="submit" disabled={isEmpty}>
            Create
          </button>
          <button class="button" type="button" onClick={onCancel}>
            Cancel
          </button>
          {isEmpty ? <span class="muted">Choose at least one kind and one verb.</span> : undefined}
        </div>
      </form>
    </Panel>
  );
}

function Choice(props: {
  title: string;
  all: readonly (readonly [value: string, label: string])[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}): JSX.Element {
  const { title, all, chosen, onChange } = props;
  const toggle = (value: string): void =>
    onChange(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="checks">
        {all.map(([value, label]) => (
          <label key={value}>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={() => toggle(value)}
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function keyOf({ name, owner, of, ttl, isNarrow, verbs, kinds }: Draft): object {
  const rule = { verbs, resources: [{ group: session.group, resources: kinds }] };
  return {
    apiVersion: `${session.group}/v1`,
    kind: 'OwnedAccessKey',
    metadata: name.trim() === '' ? {} : { name: name.trim() },
    spec: {
      [owner]: of.trim(),
      type: 'User',
      ...(ttl === '' ? {} : { ttl: Number(ttl) }),
      ...(isNarrow ? { scope: { rules: [rule] } } : {}),
    },
  };
}
