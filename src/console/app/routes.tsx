/** The pages: paths, entries of the navigation, and code that is loaded when it is needed. */
import type { ComponentType } from 'preact';
import type { IconName } from './components/icons.tsx';
import { lazy } from './components/lazy.tsx';
import { ObjectPage } from './pages/object.tsx';
import { ObjectListPage } from './pages/object-list.tsx';
import { StartPage } from './pages/start.tsx';

/** `path`: the segments of the address behind those of the route. */
export interface PageProps {
  readonly path: readonly string[];
}

export interface Route {
  /** First segment below `/console`; empty for the start page. */
  readonly segment: string;
  /** Entry of the navigation. */
  readonly label: string;
  readonly icon: IconName;
  readonly Page: ComponentType<PageProps>;
  /** False: the navigation does not show the page. */
  readonly isShown?: boolean;
}

function Objects({ path }: PageProps) {
  return path.length >= 3 ? <ObjectPage path={path} /> : <ObjectListPage path={path} />;
}

/** Pages of the first bundle, then pages that are loaded when they are opened. */
export const ROUTES: readonly Route[] = [
  { segment: '', label: 'Overview', icon: 'home', Page: StartPage },
  { segment: 'objects', label: 'Objects', icon: 'objects', Page: Objects },
  {
    segment: 'history',
    label: 'History',
    icon: 'history',
    Page: lazy(async () => (await import('./pages/history.tsx')).HistoryPage),
  },
];
