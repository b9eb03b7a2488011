/** Small parts that every page uses. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { ApiError } from '../../../client/index.ts';
import { ago, dateTime, shortRevision } from '../format.ts';
import { session } from '../session.ts';
import { Icon, type IconName } from './icons.tsx';

export type Tone = 'good' | 'warn' | 'alert' | 'info' | 'plain';

export function Badge({
  tone,
  children,
}: {
  tone: Tone;
  children: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Heading of a page. Sets the title of the document. */
export function PageHead(props: {
  title: string;
  /** Title of the document, where it differs. */
  documentTitle?: string;
  above?: ComponentChildren;
  below?: ComponentChildren;
  actions?: ComponentChildren;
}): JSX.Element {
  const { title, documentTitle = title, above, below, actions } = props;
  useEffect(() => {
    document.title = `${documentTitle} · ${session.platform}`;
  }, [documentTitle]);
  return (
    <header class="page-head">
      <div class="page-title">
        {above}
        <h1>{title}</h1>
        {below}
      </div>
      {actions === undefined ? undefined : <div class="actions">{actions}</div>}
    </header>
  );
}

/** A part of a page with a heading. */
export function Panel(props: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  flush?: boolean;
  class?: string;
  children: ComponentChildren;
}): JSX.Element {
  const own = useId();
  const id = props.id ?? own;
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      <div class={props.flush === true ? 'panel-body flush' : 'panel-body'}>{props.children}</div>
    </section>
  );
}

const NOTICE_ICONS: Readonly<Partial<Record<Tone, IconName>>> = {
  good: 'check',
  info: 'info',
  plain: 'info',
};

export function Notice(props: {
  tone: Tone;
  title?: string;
  children?: ComponentChildren;
}): JSX.Element {
  const icon = NOTICE_ICONS[props.tone] ?? 'alert';
  return (
    <div class={`notice ${props.tone}`} role={props.tone === 'alert' ? 'alert' : 'status'}>
      <Icon name={icon} />
      <div>
        {props.title === undefined ? undefined : <strong>{props.title}</strong>}
        {props.children}
      </div>
    </div>
  );
}

/** A refusal, with the places that the API names. */
export function ErrorNotice({ error, title }: { error: Error; title?: string }): JSX.Element {
  const causes = error instanceof ApiError ? (error.status.details?.causes ?? []) : [];
  return (
    <Notice tone="alert" {...(title === undefined ? {} : { title })}>
      <p class="message">{error.message}</p>
      {causes.length > 1 ? (
        <ul>
          {causes.map(({ field, message }) => (
            <li key={`${field}${message}`}>
              {field === undefined ? undefined : <code>{field}</code>} {message}
            </li>
          ))}
        </ul>
      ) : undefined}
    </Notice>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

export function Loading({ what = 'Loading' }: { what?: string }): JSX.Element {
  return (
    <p class="loading" role="status">
      {what}…
    </p>
  );
}

export function Time({ value }: { value: string | number }): JSX.Element {
  return (
    <time dateTime={new Date(value).toISOString()} title={dateTime(value)}>
      {ago(value)}
    </time>
  );
}

export function Revision({ id }: { id: string }): JSX.Element {
  return (
    <code class="revision" title={id}>
      {shortRevision(id)}
    </code>
  );
}

/** Names and values. Rows without a value are left out. */
export function Facts({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
