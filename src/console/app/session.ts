/** The session of the browser, as the page was given it, and the client of the API. */
import { Client } from '../api/client.ts';

export interface NavBarButton {
  readonly position: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
  readonly text: string;
  readonly link: string;
  readonly icon?: string;
}

export interface Session {
  readonly user: string;
  readonly groups: readonly string[];
  readonly csrfToken: string;
  /** API root: `/kubernetes/management`. */
  readonly root: string;
  /** Management API group. */
  readonly group: string;
  readonly version: string;
  /** Name of the platform. */
  readonly platform: string;
  /** True where `costControl` is enabled. */
  readonly costs: boolean;
  readonly theme: {
    readonly logo?: string;
    readonly smallLogo?: string;
    readonly hasLogoBackground: boolean;
    readonly buttons: readonly NavBarButton[];
  };
}

const given = document.querySelector<HTMLMetaElement>('meta[name="gitplane-console"]');

export const session = JSON.parse(given?.content ?? '{}') as Session;

export const client = new Client({
  root: session.root,
  csrfToken: session.csrfToken,
  onUnauthorized: signInAgain,
});

let isSigningOut = false;

/** Requests of this page that are refused from now on do not lead to the sign-in page. */
export function signOut({ ctrlKey, metaKey, shiftKey }: MouseEvent): void {
  // Another tab or window signs out then.
  isSigningOut = !(ctrlKey || metaKey || shiftKey);
}

/** The sign-in page leads back to this page. */
function signInAgain(): void {
  if (isSigningOut) return;
  const returnTo = location.pathname + location.search;
  location.assign(`/login?${new URLSearchParams({ returnTo })}`);
}
