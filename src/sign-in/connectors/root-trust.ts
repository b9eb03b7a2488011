/** Trust in a provider's root certificate from the configuration. */
import { pemInField, rootsProblem } from '../../kinds/index.ts';
import { type ProviderHttp, type ProviderTrust, readCertificates } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';

export interface TrustingHttp {
  /** Reads a file at each use, so that a new certificate counts at once. Throws SignInError. */
  http(): ProviderHttp;
  close(): Promise<void>;
}

/** `rootCA`: a path, PEM, or base64 of PEM; empty or absent: only the system roots. */
export function trustingHttp(
  rootCA: string | undefined,
  make: (trust?: ProviderTrust) => ProviderHttp,
): TrustingHttp {
  const made: { ca: string | undefined; http: ProviderHttp }[] = [];
  return {
    http() {
      const ca = rootCA ? rootsIn(rootCA) : undefined;
      const last = made.at(-1);
      if (last !== undefined && last.ca === ca) return last.http;
      const http = make(ca === undefined ? {} : { ca });
      made.push({ ca, http });
      return http;
    },
    async close() {
      await Promise.all(made.splice(0).map(({ http }) => http.close()));
    },
  };
}

function rootsIn(rootCA: string): string {
  const pem = pemInField(rootCA) ?? readCertificates(rootCA);
  const problem = rootsProblem(pem);
  if (problem === undefined) return pem;
  throw new SignInError(`rootCA ${problem}`, { reason: 'ca-unreadable', code: 502 });
}
