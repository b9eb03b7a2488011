/** Access to an object for one more user or team: a rule of `spec.access`, added by a commit. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Opened } from '../components/opened.tsx';
import { Panel } from '../components/parts.tsx';
import { ProposedChange } from '../components/proposed-change.tsx';
import { useLoad } from '../load.ts';
import { resources } from '../resources.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

/** Rights in the words of people, with the verbs of the API. */
const RIGHTS = [
  { label: 'Read', verbs: ['get'] },
  { label: 'Read and change', verbs: ['get', 'update', 'patch'] },
  { label: 'Everything', verbs: ['*'] },
] as const;

const SUBJECTS = [
  { label: 'User', plural: 'users' },
  { label: 'Team', plural: 'teams' },
] as const;

const MOST_SUGGESTED = 500;

type Required<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

export function ShareAccess(
  props: Required<ObjectTabProps> & { readonly mayClone: boolean; readonly onClose: () => void },
): JSX.Element {
  const { resource, of, object, mayClone, onClose } = props;
  const [subject, setSubject] = useState(0);
  const [right, setRight] = useState(0);
  const [name, setName] = useState('');
  const [rule, setRule] = useState<object>();
  if (rule !== undefined) {
    return <Proposal {...{ resource, of, object, mayClone, rule, onClose }} />;
  }
  const choose = (event: Event): void => {
    event.preventDefault();
    const { plural } = SUBJECTS[subject] ?? SUBJECTS[0];
    const { verbs } = RIGHTS[right] ?? RIGHTS[0];
    setRule({ verbs, [plural]: [name.trim()] });
  };
  return (
    <Opened onClose={onClose}>
      <Panel title="Give access" class="accented">
        <form class="inline-form" onSubmit={choose}>
          <Choice label="To" options={SUBJECTS} value={subject} onChange={setSubject} />
          <label>
            Name
            <input
              required
              pattern="\s*\S+\s*"
              list="share-names"
              value={name}
              autocomplete="off"
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          <Names plural={(SUBJECTS[subject] ?? SUBJECTS[0]).plural} />
          <Choice label="Right" options={RIGHTS} value={right} onChange={setRight} />
          <button type="submit" class="button primary">
            Show the change
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </form>
      </Panel>
    </Opened>
  );
}

function Choice(props: {
  readonly label: string;
  readonly options: readonly { readonly label: string }[];
  readonly value: number;
  readonly onChange: (value: number) => void;
}): JSX.Element {
  const { label, options, value, onChange } = props;
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {options.map((option, index) => (
          <option key={option.label} value={index}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Suggestions, as far as the person may list them. */
function Names({ plural }: { plural: string }): JSX.Element {
  const resource = resources.value.find(({ name }) => name === plural);
  const found = useLoad(
    async (signal) =>
      resource === undefined
        ? []
        : (await client.list(resource, { limit: MOST_SUGGESTED, signal })).items,
    [resource],
  );
  return (
    <datalist id="share-names">
      {(found.value ?? []).map(({ metadata }) => (
        <option key={metadata.name} value={metadata.name} />
      ))}
    </datalist>
  );
}

function Proposal(
  props: Parameters<typeof ShareAccess>[0] & { readonly rule: object },
): JSX.Element {
  const { resource, of, object, mayClone, rule, onClose } = props;
  const hasRules = Array.isArray(object.spec?.['access']);
  const operations = [
    { op: 'test', path: '/metadata/uid', value: object.metadata.uid },
    hasRules
      ? { op: 'add', path: '/spec/access/-', value: rule }
      : { op: 'add', path: '/spec/access', value: [rule] },
  ];
  const preview = useLoad(
    () => client.previewPatch(resource, of, { operations, mayClone }),
    [object.metadata.resourceVersion],
  );
  return (
    <ProposedChange
      title="Give access"
      preview={preview}
      submit="Save"
      onSubmit={(reason) => client.patch(resource, of, { operations, reason })}
      onClose={onClose}
    />
  );
}
