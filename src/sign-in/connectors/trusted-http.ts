/** HTTP to a provider with the certificates of a file, which is reloaded when it changes. */
import { fingerprint } from '../../files/index.ts';
import { type ProviderHttp, providerHttp, readCertificates } from '../provider-http.ts';

export interface TrustedHttp extends ProviderHttp {}

export function openTrustedHttp(of: {
  readonly caFile?: string | undefined;
  readonly isInsecure?: boolean | undefined;
  readonly issuer?: string | undefined;
}): TrustedHttp {
  const { caFile, isInsecure = false, issuer } = of;
  let looks = '';
  let open: ProviderHttp | undefined;
  const current = (): ProviderHttp => {
    const now = caFile ? fingerprint(caFile) : '';
    if (open !== undefined && now === looks) return open;
    const ca = caFile ? { ca: readCertificates(caFile) } : {};
    const before = open;
    open = providerHttp({ ...ca, isInsecure, issuer });
    looks = now;
    // Requests in progress end before the old client closes.
    if (before !== undefined) setTimeout(() => void before.close(), OLD_ONE_MS).unref();
    return open;
  };
  return {
    fetch: async (input, init) => await current().fetch(input, init),
    close: async () => await open?.close(),
  };
}

/** Longer than any request. */
const OLD_ONE_MS = 30_000;
