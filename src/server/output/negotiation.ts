/**
 * Negotiates the form of an answer with the Accept header (RFC 9110 section 12.5.1, apiserver `negotiation`):
 * clauses in order of preference, each with parameters that may ask for a transformation. A clause
 * that cannot be served is skipped; only when none is left the answer is 406.
 */
import { memoize, notAcceptable } from '../../apimachinery/index.ts';

export const JSON_TYPE = 'application/json';
export const YAML_TYPE = 'application/yaml';

interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly q: number;
  readonly params: Readonly<Record<string, string>>;
}

/** Target of a transformation: `as=…;g=…;v=…`. */
interface Target {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

export interface Transform {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: 'v1' | 'v1beta1';
}

/** Answer to negotiate for: one object, a list of them, or a stream of events. */
export type Shape = 'object' | 'list' | 'watch';

export interface MediaChoice {
  readonly mediaType: typeof JSON_TYPE | typeof YAML_TYPE;
  /** Undefined: the object as it is. */
  readonly transform: Transform | undefined;
  readonly pretty: boolean;
}

export interface AnswerWish {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly query: URLSearchParams;
}

const QUOTED = /^"(.*)"$/s;

/** Clauses by falling preference; a clause that does not parse is left out. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses = header.split(',').flatMap((text) => parseClause(text) ?? []);
  return clauses.sort((a, b) => b.q - a.q || wildcards(a) - wildcards(b));
}

function parseClause(text: string): AcceptClause | undefined {
  const [media = '', ...rest] = text.split(';').map((part) => part.trim());
  const [type = '', subtype = '', ...more] = media.toLowerCase().split('/');
  if (type === '' || subtype === '' || more.length > 0) return undefined;
  const params: Record<string, string> = Object.create(null);
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const value = part.slice(equals + 1).trim();
    params[part.slice(0, equals).trim().toLowerCase()] = QUOTED.exec(value)?.[1] ?? value;
  }
  const q = params['q'] === undefined ? 1 : Number(params['q']);
  return Number.isNaN(q) ? undefined : { type, subtype, q: Math.min(Math.max(q, 0), 1), params };
}

function wildcards(clause: AcceptClause): number {
  return Number(clause.type === '*') + Number(clause.subtype === '*');
}

/**
 * The first of the offered types that the header accepts together with the clause that did, or
 * undefined. `allows` judges the parameters of a clause. No header accepts the first offer.
 */
function chooseMediaType<Offer extends string>(
  accept: string | undefined,
  offers: readonly Offer[],
  allows: (clause: AcceptClause, offer: Offer) => boolean,
): { offer: Offer; clause: AcceptClause } | undefined {
  const header = accept === undefined || accept.trim() === '' ? '*/*' : accept;
  const clauses = parseAccept(header);
  const refused = clauses.filter((clause) => clause.q === 0 && wildcards(clause) === 0);
  for (const clause of clauses) {
    if (clause.q === 0) continue;
    const offer = offers.find(
      (candidate) =>
        covers(clause, candidate) &&
        (wildcards(clause) === 0 || !refused.some((no) => covers(no, candidate))) &&
        allows(clause, candidate),
    );
    if (offer !== undefined) return { offer, clause };
  }
  return undefined;
}

function covers(clause: AcceptClause, mediaType: string): boolean {
  const [type, subtype] = mediaType.split('/');
  if (clause.type === '*') return clause.subtype === '*';
  return clause.type === type && (clause.subtype === '*' || clause.subtype === subtype);
}

function targetOf(clause: AcceptClause): Target | undefined {
  const { as: kind, g: group, v: version } = clause.params;
  if (kind === undefined && group === undefined && version === undefined) return undefined;
  return { kind: kind ?? '', group: group ?? '', version: version ?? '' };
}

/** Throws 406 when nothing that can be made of `shape` is acceptable. */
export function negotiate(wish: AnswerWish, shape: Shape): MediaChoice {
  const choose = wantsPretty(wish) ? CHOOSE.pretty : CHOOSE.compact;
  return choose[shape](wish.accept ?? '');
}

/** Different headers that are kept per way to choose: clients have a handful between them. */
const MOST_HEADERS = 128;

const CHOOSE = { pretty: choosers(true), compact: choosers(false) } as const;

function choosers(pretty: boolean): Readonly<Record<Shape, (accept: string) => MediaChoice>> {
  const of = (shape: Shape) =>
    memoize(MOST_HEADERS, (accept) => chooseForm(accept, { shape, pretty }));
  return { object: of('object'), list: of('list'), watch: of('watch') };
}

function chooseForm(
  accept: string,
  { shape, pretty }: { shape: Shape; pretty: boolean },
): MediaChoice {
  const offers = shape === 'watch' ? ([JSON_TYPE] as const) : ([JSON_TYPE, YAML_TYPE] as const);
  const choice = chooseMediaType<MediaChoice['mediaType']>(accept, offers, (clause, offer) =>
    isServable(clause, offer, shape),
  );
  if (choice === undefined) {
    throw notAcceptable(shape === 'watch' ? [`${JSON_TYPE};stream=watch`] : offers);
  }
  const target = targetOf(choice.clause);
  return Object.freeze({
    mediaType: choice.offer,
    transform: target === undefined ? undefined : transformOf(target, shape),
    pretty: pretty || choice.clause.params['pretty'] === '1',
  });
}

function isServable(clause: AcceptClause, offer: string, shape: Shape): boolean {
  const { stream = '', sv = '' } = clause.params;
  if (stream !== '' && (stream !== 'watch' || offer !== JSON_TYPE)) return false;
  if (sv !== '' && sv !== 'v1') return false;
  const target = targetOf(clause);
  return target === undefined || transformOf(target, shape) !== undefined;
}

function transformOf({ kind, group, version }: Target, shape: Shape): Transform | undefined {
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  const wanted = shape === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return kind === 'Table' || kind === wanted ? { kind, version } : undefined;
}

/** People get indented JSON: by `?pretty`, else by the User-Agent of a browser or curl or Wget. */
function wantsPretty({ query, userAgent = '' }: Omit<AnswerWish, 'accept'>): boolean {
  const asked = query.get('pretty') ?? '';
  if (asked !== '') return /^(1|t|T|TRUE|true|True)$/.test(asked);
  return /^(curl|Wget|Mozilla)/.test(userAgent);
}

export type DiscoveryForm = 'v2' | 'v2beta1' | 'legacy';

/**
 * Negotiates the form of `/api` and `/apis`: aggregated discovery, or the plain lists. Throws 406 if
 * neither is accepted.
 */
export function negotiateDiscovery(accept: string | undefined): {
  form: DiscoveryForm;
  mediaType: MediaChoice['mediaType'];
} {
  const offers = [JSON_TYPE, YAML_TYPE] as const;
  const choice = chooseMediaType<MediaChoice['mediaType']>(accept, offers, (clause) => {
    const target = targetOf(clause);
    return target === undefined || aggregatedForm(target) !== undefined;
  });
  if (choice === undefined) throw notAcceptable(offers);
  const target = targetOf(choice.clause);
  const form = target === undefined ? 'legacy' : (aggregatedForm(target) ?? 'legacy');
  return { form, mediaType: choice.offer };
}

function aggregatedForm({ kind, group, version }: Target): 'v2' | 'v2beta1' | undefined {
  if (kind !== 'APIGroupDiscoveryList' || group !== 'apidiscovery.k8s.io') return undefined;
  return version === 'v2' || version === 'v2beta1' ? version : undefined;
}

/** As kubectl asks for it; a Content-Type with `@` would not parse in Go. */
const OPENAPI_V2_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
export const OPENAPI_V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** Throws 406 when neither JSON nor protobuf is acceptable. */
export function negotiateOpenApiV2(accept: string | undefined): 'json' | 'protobuf' {
  const offers = [JSON_TYPE, OPENAPI_V2_PROTOBUF, OPENAPI_V2_ASKED];
  const choice = chooseMediaType(accept, offers, () => true);
  if (choice === undefined) throw notAcceptable([JSON_TYPE, OPENAPI_V2_PROTOBUF]);
  return choice.offer === JSON_TYPE ? 'json' : 'protobuf';
}

/** Documents that exist in JSON only. Throws 406 when that is not acceptable. */
export function requireJson(accept: string | undefined): void {
  if (chooseMediaType(accept, [JSON_TYPE], () => true) === undefined) {
    throw notAcceptable([JSON_TYPE]);
  }
}
