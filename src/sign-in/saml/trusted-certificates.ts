/**
 * Certificates that sign responses: from the configuration, or from a file that is read at every login, so
 * that a new one needs no restart. Expired and future ones are ignored, and operators are warned before.
 */
import type { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { CertificateError, certificateText, signingCertificates } from '../../kinds/index.ts';
import type { ConnectorContext } from '../connector.ts';
import { Refusal } from './refusal.ts';

const DAY_MS = 86_400_000;
const WARNED_DAYS = 30;

export class TrustedCertificates {
  readonly #source: { readonly caData: string } | { readonly ca: string };
  readonly #context: Pick<ConnectorContext, 'clock' | 'warn'>;
  #text: string | undefined;
  #known: readonly X509Certificate[] = [];
  /** Fingerprint and state, with the day of the last warning. */
  readonly #told = new Map<string, number>();

  constructor(
    source: { readonly caData: string } | { readonly ca: string },
    context: Pick<ConnectorContext, 'clock' | 'warn'>,
  ) {
    this.#source = source;
    this.#context = context;
  }

  /** At least one PEM certificate. Throws Refusal. */
  async current(): Promise<string[]> {
    const known = await this.#read();
    const now = this.#context.clock.now();
    const valid = known.filter((certificate) => this.#isValid(certificate, now));
    if (valid.length === 0) {
      const message = 'no certificate of the provider is valid today';
      throw new Refusal(message, { reason: 'certificate-expired', code: 502 });
    }
    return valid.map((certificate) => certificate.toString());
  }

  async #read(): Promise<readonly X509Certificate[]> {
    const text = 'ca' in this.#source ? await fileText(this.#source.ca) : this.#source.caData;
    if (text === this.#text) return this.#known;
    try {
      this.#known = signingCertificates('ca' in this.#source ? text : certificateText(text));
      this.#text = text;
      return this.#known;
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      const place = 'ca' in this.#source ? this.#source.ca : 'caData';
      throw new Refusal(`${place} ${error.message}`, {
        reason: 'no-certificate',
        code: 502,
        cause: error,
      });
    }
  }

  #isValid(certificate: X509Certificate, now: number): boolean {
    const from = Date.parse(certificate.validFrom);
    const until = Date.parse(certificate.validTo);
    const days = Math.floor((until - now) / DAY_MS);
    if (now < from) this.#tell(certificate, `is not valid before ${certificate.validFrom}`);
    else if (now > until)
      this.#tell(certificate, `has not been valid since ${certificate.validTo}`);
    else if (days < WARNED_DAYS) {
      this.#tell(certificate, `ends in ${days} days, on ${certificate.validTo}`);
    }
    return now >= from && now <= until;
  }

  /** At most once per day. */
  #tell(certificate: X509Certificate, what: string): void {
    const day = Math.floor(this.#context.clock.now() / DAY_MS);
    if (this.#told.get(certificate.fingerprint256) === day) return;
    this.#told.set(certificate.fingerprint256, day);
    this.#context.warn(
      `the signing certificate with the SHA-256 fingerprint ${certificate.fingerprint256} ${what}`,
    );
  }
}

const MOST_BYTES = 1024 * 1024;

async function fileText(path: string): Promise<string> {
  try {
    const found = await stat(path);
    // A device or a pipe would never end.
    if (!found.isFile() || found.size > MOST_BYTES)
      throw new Error('it is not a file of 1 MiB or less');
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Refusal(`${path} cannot be read`, { reason: 'no-certificate', code: 502, cause });
  }
}
