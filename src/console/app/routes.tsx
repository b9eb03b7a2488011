/** The pages: paths, entries of the navigation, and code that is loaded when it is needed. */
import type { ComponentType } from 'preact';
import type { IconName } from './components/icons.tsx';
import { lazy } from './components/lazy.tsx';
import { NotFound } from './components/not-found.tsx';
import { ObjectPage } from './pages/object.tsx';
import { ObjectListPage } from './pages/object-list.tsx';
import { StartPage } from './pages/start.tsx';
import { session } from './session.ts';

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
  if (path.length < 2) return <ObjectListPage path={path} />;
  return path.length === 3 ? <ObjectPage path={path} /> : <NotFound />;
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
  {
    segment: 'plan',
    label: 'Plan',
    icon: 'plan',
    Page: lazy(async () => (await import('./pages/plan.tsx')).PlanPage),
  },
  {
    segment: 'access',
    label: 'Access',
    icon: 'access',
    Page: lazy(async () => (await import('./pages/access.tsx')).AccessPage),
  },
  {
    segment: 'tenants',
    label: 'Tenants',
    icon: 'tenants',
    Page: lazy(async () => (await import('./pages/tenants.tsx')).TenantsPage),
  },
  {
    segment: 'config',
    label: 'Config',
    icon: 'config',
    Page: lazy(async () => (await import('./pages/config.tsx')).ConfigPage),
  },
  {
    segment: 'audit',
    label: 'Audit',
    icon: 'audit',
    Page: lazy(async () => (await import('./pages/audit.tsx')).AuditPage),
  },
  {
    segment: 'costs',
    label: 'Costs',
    icon: 'costs',
    isShown: session.costs,
    Page: lazy(async () => (await import('./pages/costs.tsx')).CostsPage),
  },
];
