/** Frame of every page: navigation, top bar, the page, and the search. */
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { announcement } from '../announcement.ts';
import { isConnected } from '../live.ts';
import { errorOf } from '../load.ts';
import { address, addressProblem, href, segments } from '../location.ts';
import { type ColorScheme, colorScheme, setColorScheme } from '../memory.ts';
import { ROUTES } from '../routes.tsx';
import { type NavBarButton, session, signOut } from '../session.ts';
import { Icon, type IconName, Mark } from './icons.tsx';
import { NotFound } from './not-found.tsx';
import { ErrorNotice, PageHead } from './parts.tsx';
import { openSearch, Search } from './search.tsx';
import { openShortcuts, Shortcuts } from './shortcuts.tsx';
import { PastBar, TimeButton } from './time-bar.tsx';

/** On narrow windows the navigation is closed at first. */
const isMenuOpen = signal(false);

export function Shell(): JSX.Element {
  return (
    <div class={isMenuOpen.value ? 'shell menu-open' : 'shell'}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Sidebar />
      <TopBar />
      <main id="main" tabIndex={-1}>
        {addressProblem.value === undefined ? <PastBar /> : undefined}
        <CurrentPage />
      </main>
      <Legal />
      <Search />
      <Shortcuts />
    </div>
  );
}

function CurrentPage(): JSX.Element {
  const [first = '', ...rest] = segments.value;
  const route = ROUTES.find(({ segment }) => segment === first);
  useEffect(() => {
    isMenuOpen.value = false;
  }, [first, rest.join('/')]);
  const problem = addressProblem.value;
  if (problem !== undefined || route === undefined) return <NotFound problem={problem} />;
  const { Page } = route;
  return (
    <Guarded key={first}>
      <Page path={rest} />
    </Guarded>
  );
}

/** A page that cannot be rendered says so; the navigation leads to the others. */
function Guarded({ children }: { children: ComponentChildren }): ComponentChildren {
  const [error, reset] = useErrorBoundary();
  useEffect(() => reset(), [address.value]);
  if (error === undefined) return children;
  return (
    <>
      <PageHead title="This page cannot be shown" />
      <ErrorNotice error={errorOf(error)} />
    </>
  );
}

function Sidebar(): JSX.Element {
  const [first = ''] = segments.value;
  const shown = ROUTES.filter(({ isShown }) => isShown !== false);
  return (
    <nav class="sidebar" aria-label="Pages">
      <a class="brand" href={href([])} aria-label={`${session.platform}, overview`}>
        <Brand />
      </a>
      <div class="nav-top">
        <CustomButtons position="TopStart" />
        <ul>
          {shown.map(({ segment, label, icon }) => (
            <li key={segment}>
              <a
                class="nav-link"
                href={href(segment === '' ? [] : [segment])}
                aria-current={first === segment ? 'page' : undefined}
              >
                <Icon name={icon} />
                {label}
              </a>
            </li>
          ))}
        </ul>
        <CustomButtons position="TopEnd" />
      </div>
      <div class="nav-bottom">
        <CustomButtons position="BottomStart" />
        <CustomButtons position="BottomEnd" />
        <p class="version">gitplane {session.version}</p>
      </div>
    </nav>
  );
}

function Brand(): JSX.Element {
  const { logo, smallLogo, hasLogoBackground } = session.theme;
  if (logo === undefined) {
    return (
      <span class="mark">
        <Mark />
        <span class="mark-name">{session.platform}</span>
      </span>
    );
  }
  return (
    <picture>
      {smallLogo === undefined ? undefined : (
        <source media="(max-width: 59.99rem)" srcset={smallLogo} />
      )}
      <img class={hasLogoBackground ? 'logo backed' : 'logo'} src={logo} alt="" />
    </picture>
  );
}

function CustomButtons({ position }: Pick<NavBarButton, 'position'>): JSX.Element | null {
  const buttons = session.theme.buttons.filter((button) => button.position === position);
  if (buttons.length === 0) return null;
  return (
    <ul data-position={position}>
      {buttons.map(({ text, link, icon }) => (
        <li key={`${text}${link}`}>
          <a class="nav-link" href={link} rel="noreferrer">
            {icon === undefined ? <Icon name="external" /> : <img class="icon" src={icon} alt="" />}
            {text}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Escape closes the navigation of narrow windows. */
function useMenuEscape(button: RefObject<HTMLButtonElement | null>): void {
  useEffect(() => {
    const close = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.defaultPrevented || !isMenuOpen.value) return;
      isMenuOpen.value = false;
      button.current?.focus();
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, []);
}

function TopBar(): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useMenuEscape(button);
  return (
    <header class="topbar">
      <button
        ref={button}
        type="button"
        class="icon-button menu-button"
        aria-label="Menu"
        aria-expanded={isMenuOpen.value}
        onClick={() => {
          isMenuOpen.value = !isMenuOpen.value;
        }}
      >
        <Icon name={isMenuOpen.value ? 'close' : 'menu'} />
      </button>
      <button type="button" class="search-button" onClick={openSearch}>
        <Icon name="search" />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <ConnectionState />
      <TimeButton />
      <UserMenu />
    </header>
  );
}

/** Screen readers are told when the connection is lost and when it is back, and what was done. */
function ConnectionState(): JSX.Element {
  const isUp = isConnected.value;
  const done = announcement.value;
  return (
    <p class={`connection ${isUp ? (done === '' ? '' : 'done') : 'lost'}`} role="status">
      {isUp ? done : 'Not connected. Trying again'}
    </p>
  );
}

const SCHEMES: readonly (readonly [ColorScheme, string, IconName])[] = [
  ['system', 'As the system', 'display'],
  ['light', 'Light', 'sun'],
  ['dark', 'Dark', 'moon'],
];

function UserMenu(): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const { current } = box;
      if (current === null || !current.open) return;
      if (event instanceof KeyboardEvent) {
        if (event.key !== 'Escape') return;
        current.querySelector('summary')?.focus();
      } else if (current.contains(event.target as Node)) return;
      current.open = false;
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary aria-label={`Account of ${session.user}`}>
        <Icon name="user" />
        <span class="user-name">{session.user}</span>
      </summary>
      <div class="menu-box">
        <p class="menu-note">
          Signed in as <strong>{session.user}</strong>
        </p>
        <fieldset>
          <legend>Colors</legend>
          {SCHEMES.map(([scheme, label, icon]) => (
            <label key={scheme}>
              <input
                type="radio"
                name="color-scheme"
                checked={colorScheme.value === scheme}
                onChange={() => setColorScheme(scheme)}
              />
              <Icon name={icon} />
              {label}
            </label>
          ))}
        </fieldset>
        <button
          type="button"
          class="menu-action"
          onClick={() => {
            if (box.current !== null) box.current.open = false;
            box.current?.querySelector('summary')?.focus();
            openShortcuts();
          }}
        >
          Keyboard shortcuts <kbd>?</kbd>
        </button>
        <a href="/auth/logout" onClick={signOut}>
          Sign out
        </a>
      </div>
    </details>
  );
}

/** The legal text, which the server has sanitised, is taken from a template of the page. */
function Legal(): JSX.Element | null {
  const place = useRef<HTMLDivElement>(null);
  const template = document.querySelector<HTMLTemplateElement>('#legal');
  useEffect(() => {
    if (template !== null) place.current?.replaceChildren(template.content.cloneNode(true));
  }, [template]);
  return template === null ? null : (
    <footer class="legal">
      <div ref={place} />
    </footer>
  );
}
