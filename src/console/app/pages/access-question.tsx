/** Questions about access: why a user, team or key may do something, and who may do it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AccessExplanation, AccessList, Grant, Named } from '../../api/access.ts';
import { Badge, Empty, ErrorNotice, Facts, Loading, Notice, Panel } from '../components/parts.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { href, query, setQuery } from '../location.ts';
import { bySlug, listed, objectHref, resources, slugOf, titleOf } from '../resources.ts';
import { ACCESS_REVIEWS, useRights } from '../rights.ts';
import { client } from '../session.ts';
import { NoKind } from './object.tsx';

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'bind', '*'] as const;
const FIELDS = ['as', 'subject', 'verb', 'kind', 'namespace', 'name'] as const;
type Asked = Readonly<Record<(typeof FIELDS)[number], string>>;
const SUBJECTS: readonly (readonly [string, string])[] = [
  ['', 'Me'],
  ['user', 'User'],
  ['team', 'Team'],
  ['key', 'Access key'],
];

interface Props {
  readonly mode: 'explain' | 'who';
}

export function AccessQuestion({ mode }: Props): JSX.Element {
  const given = Object.fromEntries(
    FIELDS.map((field) => [field, query.value.get(field) ?? '']),
  ) as Asked;
  const mayAskAboutOthers = useRights()?.may('create', ACCESS_REVIEWS);
  if (mayAskAboutOthers === false && (mode === 'who' || given.as !== '')) {
    return <OthersAreHidden />;
  }
  return (
    <>
      <QuestionForm {...{ mode, given }} hasOthers={mayAskAboutOthers === true} />
      {given.kind === '' ? (
        <Empty>
          {mode === 'explain'
            ? 'Choose what is done, to see whether it is allowed, and by which rules.'
            : 'Choose an object, to see everyone who may read or change it.'}
        </Empty>
      ) : (
        <AnswerTo mode={mode} asked={given} />
      )}
    </>
  );
}

function QuestionForm(
  props: Props & { readonly given: Asked; readonly hasOthers: boolean },
): JSX.Element {
  const { mode, given, hasOthers } = props;
  const [asked, setAsked] = useState(given);
  const set = (field: keyof Asked) => (event: { currentTarget: { value: string } }) =>
    setAsked({ ...asked, [field]: event.currentTarget.value });
  const kinds = listed(resources.value);
  const kind = asked.kind === '' ? kinds[0] : bySlug(kinds, asked.kind);
  return (
    <form
      class="form-grid"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({
          ...asked,
          verb: asked.verb || 'get',
          kind: asked.kind || (kind === undefined ? '' : slugOf(kind)),
        });
      }}
    >
      {mode === 'who' || !hasOthers ? undefined : (
        <label>
          Asked for
          <select value={asked.as} onChange={set('as')}>
            {SUBJECTS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      {mode === 'who' || asked.as === '' ? undefined : (
        <label>
          Its name
          <input value={asked.subject} required autocomplete="off" onInput={set('subject')} />
        </label>
      )}
      <label>
        Verb
        <select value={asked.verb || 'get'} onChange={set('verb')}>
          {VERBS.map((verb) => (
            <option key={verb}>{verb}</option>
          ))}
        </select>
      </label>
      <label>
        Kind
        <select value={asked.kind} onChange={set('kind')}>
          {kinds.map((one) => (
            <option key={slugOf(one)} value={slugOf(one)}>
              {titleOf(one)}
            </option>
          ))}
        </select>
      </label>
      {kind?.namespaced === true ? (
        <label>
          Namespace
          <input
            value={asked.namespace}
            autocomplete="off"
            placeholder="all namespaces"
            onInput={set('namespace')}
          />
        </label>
      ) : undefined}
      <label>
        Name
        <input
          value={asked.name}
          autocomplete="off"
          placeholder="all objects"
          onInput={set('name')}
        />
      </label>
      <button class="button primary" type="submit">
        {mode === 'explain' ? 'Explain' : 'List'}
      </button>
    </form>
  );
}

function OthersAreHidden(): JSX.Element {
  return (
    <Notice tone="info" title="You may not ask about other people">
      <p>
        The answer takes the right to <code>create</code> <code>{ACCESS_REVIEWS.name}</code>.{' '}
        <a href={href(['access'])}>Ask about your own rights</a>
      </p>
    </Notice>
  );
}

function AnswerTo({ mode, asked }: Props & { asked: Asked }): JSX.Element {
  const kind = bySlug(resources.value, asked.kind);
  const key = JSON.stringify(asked);
  const answer = useLoad(
    async (signal): Promise<AccessExplanation | AccessList | undefined> => {
      if (kind === undefined) return undefined;
      const subject = asked.as !== '' && mode === 'explain' ? { [asked.as]: asked.subject } : {};
      const { verb, namespace, name } = asked;
      const on = { verb: verb || 'get', group: kind.group, resource: kind.name };
      const where = kind.namespaced ? { namespace } : {};
      return await client.json(`/access/${mode}`, {
        query: { ...on, ...where, name, ...subject },
        signal,
      });
    },
    [key, mode, kind],
  );
  if (kind === undefined && resources.value.length > 0) return <NoKind slug={asked.kind} />;
  if (answer.error !== undefined) return <ErrorNotice error={answer.error} />;
  if (answer.value === undefined || answer.isLoading) return <Loading />;
  return (
    <div class="stack">
      {'items' in answer.value ? (
        <Subjects list={answer.value} />
      ) : (
        <Explanation explained={answer.value} />
      )}
    </div>
  );
}

function Explanation({ explained }: { explained: AccessExplanation }): JSX.Element {
  const { subject, allowed, reason, grants, hidden, scope } = explained;
  return (
    <>
      <Notice
        tone={allowed ? 'good' : 'alert'}
        title={allowed ? `${subject.name} may do this` : `${subject.name} may not do this`}
      >
        {scope === undefined || scope.allows ? undefined : (
          <p>The scope of the access key does not allow it, whatever the roles of its owner say.</p>
        )}
        {reason === undefined ? undefined : <p class="message">{reason}</p>}
      </Notice>
      <Panel title="Rules that allow it" flush>
        {grants.length === 0 ? (
          <Empty>{hidden > 0 ? 'None that you may read.' : 'No rule allows it.'}</Empty>
        ) : (
          <ul class="rows">
            {grants.map((grant) => (
              <li key={JSON.stringify(grant)}>
                <Chain grant={grant} />
              </li>
            ))}
          </ul>
        )}
        <Hidden number={hidden} />
      </Panel>
      <Panel title="Identity">
        <Facts
          rows={[
            ['Name', subject.name],
            ['Access key', subject.key],
            [
              'Groups',
              <ul key="groups">
                {subject.groups.map((group) => (
                  <li key={group}>{group}</li>
                ))}
              </ul>,
            ],
          ]}
        />
      </Panel>
    </>
  );
}

function Subjects({ list }: { list: AccessList }): JSX.Element {
  const { items, hidden, left = 0 } = list;
  return (
    <Panel title={count(items.length, 'subject')} flush>
      {items.length === 0 ? <Empty>Nobody may do it, as far as you may read.</Empty> : undefined}
      <ul class="rows">
        {items.map(
          ({ subject, team, members = [], memberCount = 0, memberGroups = [], grants }) => (
            <li key={`${subject.kind}/${subject.name}`}>
              <div class="row-line">
                <Badge tone="plain">{team === undefined ? subject.kind : 'Team'}</Badge>
                <span class="row-title">{team ?? subject.name}</span>
              </div>
              {team === undefined ? undefined : (
                <p class="muted">
                  {memberCount === 0 ? 'No users' : members.join(', ')}
                  {memberCount > members.length ? ` and ${memberCount - members.length} more` : ''}
                  {memberGroups.length === 0
                    ? ''
                    : `; members of the groups ${memberGroups.join(', ')}`}
                </p>
              )}
              <ul class="plain">
                {grants.map((grant) => (
                  <li key={JSON.stringify(grant)}>
                    <Chain grant={grant} />
                  </li>
                ))}
              </ul>
            </li>
          ),
        )}
      </ul>
      {left > 0 ? <Empty>{count(left, 'more grant')} of further subjects</Empty> : undefined}
      <Hidden number={hidden} />
    </Panel>
  );
}

function Hidden({ number }: { number: number }): JSX.Element | null {
  if (number === 0) return null;
  return <Empty>{count(number, 'more rule')} that you may not read</Empty>;
}

function Chain({ grant }: { grant: Grant }): JSX.Element {
  const { via, subject, binding, role, rule, object } = grant;
  const who = subject === undefined ? undefined : `${subject.kind} ${subject.name}`;
  return (
    <div class="chain">
      {who === undefined ? undefined : <span>{who}</span>}
      {via === 'builtin' ? <span>built in</span> : undefined}
      {binding === undefined ? undefined : <ObjectLink of={binding} />}
      {role === undefined ? undefined : <ObjectLink of={role} />}
      {object === undefined ? undefined : <ObjectLink of={object} />}
      {rule === undefined ? undefined : typeof rule === 'string' ? (
        <span>{ruleText(rule)}</span>
      ) : (
        <code>
          {rule.verbs.join(', ')} on {[...rule.resources, ...rule.nonResourceURLs].join(', ')}
          {rule.resourceNames.length === 0 ? '' : ` named ${rule.resourceNames.join(', ')}`}
        </code>
      )}
    </div>
  );
}

/** A rule without a name is called by its place: `access[0]`. */
function ruleText(rule: string): string {
  if (rule === 'owner') return 'owner of the object';
  const place = /^access\[(\d+)\]$/.exec(rule)?.[1];
  return place === undefined ? `access rule ${rule}` : `access rule ${Number(place) + 1}`;
}

function ObjectLink({ of }: { of: Named }): JSX.Element {
  const { apiVersion, kind, plural, namespace = '', name } = of;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const title = `${kind} ${[namespace, name].filter(Boolean).join('/')}`;
  return <a href={objectHref({ group, name: plural }, { namespace, name })}>{title}</a>;
}
