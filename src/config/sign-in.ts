/** The ways to sign in that the configuration names, as clients and the sign-in page list them. */
import type { AuthConfig } from './sections/auth.ts';

export interface SignInMethod {
  /** Part of its URLs. */
  readonly id: string;
  readonly displayName: string;
  /** Protocol or provider, for an icon: `oidc`, `saml`, `providerA` … */
  readonly type: string;
  readonly loginEndpoint: string;
  readonly logoutEndpoint: string;
}

/** Names no secret and no address of a provider. */
export interface SignInInfo {
  readonly methods: {
    readonly sso: readonly SignInMethod[];
    readonly providerE: { readonly enabled: boolean; readonly host?: string };
    readonly password: { readonly enabled: boolean };
  };
}

const NAMES = {
  oidc: 'OpenID Connect',
  providerA: 'Provider A',
  providerB: 'Provider B',
  providerC: 'Provider C',
  providerD: 'Provider D',
  saml: 'SAML',
} as const;

type Block = keyof typeof NAMES;
const BLOCKS = Object.keys(NAMES) as readonly Block[];

export function signInInfo(auth: AuthConfig): SignInInfo {
  const own = BLOCKS.filter((block) => auth[block] !== undefined).map((block) =>
    method(block, block, block === 'oidc' ? auth.oidc?.type : undefined),
  );
  const further = (auth.connectors ?? []).flatMap((connector) => {
    const block = BLOCKS.find((name) => connector[name] !== undefined);
    if (block === undefined) return [];
    return [method(connector.id, block, connector.displayName || connector.oidc?.type)];
  });
  const { host } = auth.providerE ?? {};
  return {
    methods: {
      sso: [...own, ...further],
      providerE: { enabled: auth.providerE !== undefined, ...(host ? { host } : {}) },
      password: { enabled: auth.password?.disabled !== true },
    },
  };
}

/**
 * Providers without verification of certificate or signature: a man in the middle, or any client,
 * could choose the user who signs in.
 */
export function uncheckedProviders(auth: AuthConfig): string[] {
  const homes: [string, Pick<AuthConfig, 'oidc' | 'saml' | 'providerE'>][] = [
    ['auth', auth],
    ...(auth.connectors ?? []).map((connector, index): [string, typeof connector] => [
      `auth.connectors[${index}]`,
      connector,
    ]),
  ];
  return homes.flatMap(([home, { oidc, saml, providerE }]) => [
    ...(oidc?.insecureCa ? [`${home}.oidc.insecureCa`] : []),
    ...(providerE?.insecure ? [`${home}.providerE.insecure`] : []),
    ...(saml?.insecureSkipSignatureValidation
      ? [`${home}.saml.insecureSkipSignatureValidation`]
      : []),
  ]);
}

function method(id: string, type: Block, displayName: string | undefined): SignInMethod {
  return {
    id,
    displayName: displayName || NAMES[type],
    type,
    loginEndpoint: `/auth/${id}/login`,
    logoutEndpoint: `/auth/${id}/logout`,
  };
}
