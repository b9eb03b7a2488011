/**
 * Sign-in through a SAML 2.0 provider (spec 2.8.7): the browser takes a request there and returns a signed
 * response, both as forms. The platform itself never connects to the provider.
 */
import type { SAMLConfig } from '../../config/index.ts';
import { nameIdFormat } from '../../kinds/index.ts';
import type {
  Callback,
  Connector,
  ConnectorContext,
  LoginTransaction,
  ProvidedIdentity,
  ProviderRedirect,
} from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';
import { ASSERTION, PROTOCOL } from './namespaces.ts';
import { providedIdentity } from './provided-identity.ts';
import { demand, Refusal } from './refusal.ts';
import { ResponseReaders } from './response-readers.ts';
import { responseText } from './response-text.ts';
import { TrustedCertificates } from './trusted-certificates.ts';
import type { AssertionFacts } from './worker-messages.ts';

/** The unsigned AuthnRequest that a browser takes to the provider (SAML core 3.4, HTTP-POST binding). */
interface AuthnRequest {
  /** An XML name. */
  readonly id: string;
  /** Unix time in ms. */
  readonly issuedAt: number;
  readonly issuer: string;
  readonly destination: string;
  readonly redirectUri: string;
  /** URI. */
  readonly nameIdFormat: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

let sharedReaders: ResponseReaders | undefined;

let readerHolders = 0;

/** Worker threads for responses, shared by all connectors of the process across configurations. */
interface HeldReaders {
  readonly readers: ResponseReaders;
  /** Ends the threads with their last user. Call once. */
  release(): Promise<void>;
}

const MAX_REPLAYS = 100_000;

/** Accepted assertions until they expire, to detect replays. */
class Replays {
  /** Expiry in Unix time (ms); oldest first. */
  readonly #taken = new Map<string, number>();

  /** False: the assertion was accepted before. */
  take(id: string, until: number, now: number): boolean {
    for (const [known, end] of this.#taken) {
      if (end > now && this.#taken.size <= MAX_REPLAYS) break;
      this.#taken.delete(known);
    }
    if ((this.#taken.get(id) ?? 0) > now) return false;
    this.#taken.delete(id);
    this.#taken.set(id, until);
    return true;
  }
}

/** Shared by all connectors of the process, so that a changed configuration loses no assertion. */
const replays = new Replays();

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';

/** `id`: `saml`, or that of an entry of `connectors`. */
export async function samlConnector(
  id: string,
  block: SAMLConfig,
  context: ConnectorContext,
): Promise<Connector> {
  const connector = new SamlConnector(id, block, context);
  await connector.lookAtCertificates();
  return connector;
}

class SamlConnector implements Connector {
  readonly id: string;
  readonly type = 'saml';
  readonly callbackMethod = 'POST';
  readonly #block: SAMLConfig;
  readonly #context: ConnectorContext;
  readonly #redirectUri: string;
  readonly #nameIdFormat: string;
  /** Undefined: signatures are not checked, by configuration. An empty list never means that. */
  readonly #certificates: TrustedCertificates | undefined;
  readonly #held = holdReaders();
  #isClosed = false;

  constructor(id: string, block: SAMLConfig, context: ConnectorContext) {
    this.id = id;
    this.#block = block;
    this.#context = context;
    this.#redirectUri = block.redirectURI || `${context.baseUrl}/auth/${id}/callback`;
    this.#nameIdFormat = nameIdFormat(block.nameIDPolicyFormat) ?? PERSISTENT;
    this.#certificates = certificatesOf(block, context);
  }

  /** Warns about settings that would refuse every user, or admit everyone. */
  async lookAtCertificates(): Promise<void> {
    if (this.#certificates === undefined) {
      this.#context.warn(
        'insecureSkipSignatureValidation is set: signatures are not checked, and any client can sign in as any user',
      );
      return;
    }
    try {
      await this.#certificates.current();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#context.warn(`no user can sign in: ${error.message}`);
    }
  }

  async begin({ requestId, state, startedAt }: LoginTransaction): Promise<ProviderRedirect> {
    // Fail before the user signs in at the provider.
    await refusalsTold('nobody can sign in', this.#certificates?.current());
    const destination = this.#block.ssoURL ?? '';
    this.#held.readers.warm();
    const SAMLRequest = encodedRequest({
      id: requestId,
      issuedAt: startedAt,
      issuer: this.#audience,
      destination,
      redirectUri: this.#redirectUri,
      nameIdFormat: this.#nameIdFormat,
    });
    return { kind: 'post', url: destination, fields: { SAMLRequest, RelayState: state } };
  }

  async complete(
    transaction: LoginTransaction,
    { form }: Callback,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity> {
    const identity = this.#identity(transaction, form, signal);
    return await refusalsTold('the SAML response is not taken', identity);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#held.release();
  }

  async #identity(
    transaction: LoginTransaction,
    form: URLSearchParams,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity> {
    const states = form.getAll('RelayState');
    demand(
      states.every((state) => state === transaction.state),
      'relay-state',
      'it belongs to another login',
    );
    const [encoded, ...more] = form.getAll('SAMLResponse');
    demand(encoded !== undefined && more.length === 0, 'no-response', 'the form has no response');
    const facts = await this.#read(responseText(encoded), transaction, signal);
    this.#checkFormat(facts);
    const { clock } = this.#context;
    demand(
      replays.take(JSON.stringify([this.id, facts.issuer, facts.id]), facts.until, clock.now()),
      'replayed',
      'it was used before',
    );
    return providedIdentity(facts, this.#block, this.#certificates !== undefined);
  }

  async #read(
    text: string,
    { requestId }: LoginTransaction,
    signal: AbortSignal,
  ): Promise<AssertionFacts> {
    const certificates = await this.#certificates?.current();
    const expected = {
      requestId,
      redirectUri: this.#redirectUri,
      audience: this.#audience,
      issuer: this.#block.ssoIssuer || undefined,
      now: this.#context.clock.now(),
    };
    const trust = certificates === undefined ? 'unsigned' : 'signed';
    return await this.#held.readers.read(
      { text, expected, certificates: certificates ?? [], trust },
      signal,
    );
  }

  /** A transient NameID would create a new user at each login. */
  #checkFormat({ nameIdFormat: format }: AssertionFacts): void {
    demand(
      format !== TRANSIENT || this.#nameIdFormat === TRANSIENT,
      'transient-name-id',
      'its NameID is a transient one, which was not asked for',
    );
  }

  /** Entity id of the platform at the provider. */
  get #audience(): string {
    return this.#block.entityIssuer || this.#redirectUri;
  }
}

/** Value of the form field `SAMLRequest`. */
function encodedRequest(request: AuthnRequest): string {
  return Buffer.from(requestText(request)).toString('base64');
}

function requestText(of: AuthnRequest): string {
  const head = attributes({
    'xmlns:samlp': PROTOCOL,
    'xmlns:saml': ASSERTION,
    ID: of.id,
    Version: '2.0',
    IssueInstant: new Date(of.issuedAt).toISOString(),
    Destination: of.destination,
    ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    AssertionConsumerServiceURL: of.redirectUri,
  });
  const policy = attributes({ Format: of.nameIdFormat, AllowCreate: 'true' });
  return (
    `<samlp:AuthnRequest${head}><saml:Issuer>${escaped(of.issuer)}</saml:Issuer>` +
    `<samlp:NameIDPolicy${policy}/></samlp:AuthnRequest>`
  );
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join('');
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? '');
}

function holdReaders(): HeldReaders {
  const readers = sharedReaders ?? new ResponseReaders();
  sharedReaders = readers;
  readerHolders++;
  return {
    readers,
    release: async () => {
      if (--readerHolders > 0) return;
      sharedReaders = undefined;
      await readers.close();
    },
  };
}

async function refusalsTold<T>(what: string, work: Promise<T> | T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { reason, message, code } = error;
    throw new SignInError(`${what}: ${message}`, {
      reason,
      code,
      cause: error,
    });
  }
}

function certificatesOf(
  { ca, caData, insecureSkipSignatureValidation }: SAMLConfig,
  context: ConnectorContext,
): TrustedCertificates | undefined {
  if (ca) return new TrustedCertificates({ ca }, context);
  if (caData || insecureSkipSignatureValidation !== true) {
    return new TrustedCertificates({ caData: caData ?? '' }, context);
  }
  return undefined;
}
