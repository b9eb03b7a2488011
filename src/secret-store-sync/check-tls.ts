/** Checks certificates and keys for the store; problems name the configuration field. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { rootsProblem } from '../kinds/index.ts';
import type { TransportTls } from '../secret-store-client/index.ts';
import { SettingsError } from './settings-error.ts';

/** Throws `SettingsError`, whose message contains none of them. */
export function checkTls({ ca, cert, key }: TransportTls, home: string): void {
  const refuse: Refuse = (fields, problem) => {
    throw new SettingsError('FileUnreadable', `${home}: ${fields} ${problem}`);
  };
  const authority = ca === undefined ? undefined : rootsProblem(ca);
  if (authority !== undefined) refuse('caFile or caData', authority);
  if (cert === undefined && key === undefined) return;
  if (cert === undefined) refuse('clientCertFile or clientCertData', 'is missing beside the key');
  if (key === undefined)
    refuse('clientKeyFile or clientKeyData', 'is missing beside the certificate');
  const certificate = rootsProblem(cert);
  if (certificate !== undefined) refuse('clientCertFile or clientCertData', certificate);
  const fits = fitting(cert, key);
  if (fits !== undefined) refuse('clientKeyFile or clientKeyData', fits);
}

function fitting(cert: string, key: string): string | undefined {
  try {
    const privateKey = createPrivateKey(key);
    const isPair = new X509Certificate(cert).checkPrivateKey(privateKey);
    return isPair ? undefined : 'is not the key of the client certificate';
  } catch {
    return 'must hold a private key as PEM, without a passphrase';
  }
}

type Refuse = (fields: string, problem: string) => never;
