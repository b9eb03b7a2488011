/** Requests about what the server says of itself: discovery, reviews, namespaces and paths of nobody. */
import type { Random } from '../../support/random.ts';
import type { Asked } from '../api/target.ts';
import type { Episode } from './episode.ts';
import type { Profile } from './objects.ts';
import { drawAccept, drawQuery, drawType } from './queries.ts';
import { SPOILED_OBJECTS, SPOILED_TEXTS } from './spoil.ts';

const STEPS = 12;
const AUTHORIZATION = 'authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io/v1';

const DOCUMENTS = [
  '/api',
  '/apis',
  '/api/',
  '/api/v1',
  '/apis/management.gitplane.dev',
  '/apis/management.gitplane.dev/v1',
  '/apis/coordination.k8s.io',
  '/apis/coordination.k8s.io/v1',
  '/apis/rbac.authorization.k8s.io/v1',
  '/apis/authorization.k8s.io/v1',
  '/apis/authentication.k8s.io/v1',
  '/apis/nobody.example.com',
  '/apis/nobody.example.com/v1',
  '/apis/nobody.example.com/v1/things',
  '/apis/management.gitplane.dev/v9',
  '/apis/management.gitplane.dev/v9/teams',
  '/apis/management.gitplane.dev/v1/things',
  '/api/v9',
  '/nothing',
  '/version',
  '/healthz',
  '/livez',
  '/readyz',
  '/openapi',
  '/openapi/v3/nothing',
  '/apis/coordination.k8s.io/v1/leases/x',
  '/api/v1/namespaces/default',
  '/api/v1/namespaces/nowhere',
];

const DISCOVERY_FORMS = [
  'application/json',
  'application/yaml',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
  'application/vnd.kubernetes.protobuf',
  'text/plain',
];

interface Review {
  readonly path: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly specs: readonly unknown[];
}

const ATTRIBUTES = { verb: 'get', group: '', resource: 'pods', namespace: 'default' };
const SELECTOR = { rawSelector: 'a=b' };
const REQUIREMENTS = { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] };
const selecting = (labelSelector: object): object => ({ ...ATTRIBUTES, labelSelector });

const ATTRIBUTE_SPECS: readonly object[] = [
  { resourceAttributes: ATTRIBUTES },
  { nonResourceAttributes: { verb: 'get', path: '/x' } },
  { resourceAttributes: ATTRIBUTES, nonResourceAttributes: { verb: 'get', path: '/x' } },
  { resourceAttributes: selecting(SELECTOR) },
  { resourceAttributes: selecting(REQUIREMENTS) },
  { resourceAttributes: selecting({ ...SELECTOR, ...REQUIREMENTS }) },
  { resourceAttributes: selecting({ requirements: [{ key: 'a', operator: 'Guess' }] }) },
  { resourceAttributes: { ...ATTRIBUTES, fieldSelector: { rawSelector: 'x' } } },
  { resourceAttributes: 'x' },
  { resourceAttributes: { verb: 1 } },
  {},
];

const withUser = (specs: readonly object[]): object[] => [
  ...specs.map((spec) => ({ user: 'bob', groups: ['crew'], ...spec })),
  { ...specs[0], groups: ['crew'] },
  { ...specs[0] },
  { ...specs[0], user: 1 },
];

const REVIEWS: readonly Review[] = [
  {
    path: `/apis/${AUTHORIZATION}/subjectaccessreviews`,
    kind: 'SubjectAccessReview',
    apiVersion: AUTHORIZATION,
    specs: withUser(ATTRIBUTE_SPECS),
  },
  {
    path: `/apis/${AUTHORIZATION}/selfsubjectaccessreviews`,
    kind: 'SelfSubjectAccessReview',
    apiVersion: AUTHORIZATION,
    specs: ATTRIBUTE_SPECS,
  },
  {
    path: `/apis/${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`,
    kind: 'LocalSubjectAccessReview',
    apiVersion: AUTHORIZATION,
    specs: withUser([
      ...ATTRIBUTE_SPECS,
      { resourceAttributes: { ...ATTRIBUTES, namespace: 'elsewhere' } },
    ]),
  },
  {
    path: `/apis/${AUTHORIZATION}/selfsubjectrulesreviews`,
    kind: 'SelfSubjectRulesReview',
    apiVersion: AUTHORIZATION,
    specs: [{ namespace: 'default' }, { namespace: '' }, {}, { namespace: 1 }, { odd: 1 }],
  },
  {
    path: `/apis/${AUTHENTICATION}/tokenreviews`,
    kind: 'TokenReview',
    apiVersion: AUTHENTICATION,
    specs: [
      { token: '{token}' },
      { token: 'nobody' },
      { token: '' },
      {},
      { token: 1 },
      { token: '{token}', audiences: ['elsewhere'] },
    ],
  },
  {
    path: `/apis/${AUTHENTICATION}/selfsubjectreviews`,
    kind: 'SelfSubjectReview',
    apiVersion: AUTHENTICATION,
    specs: [undefined, {}],
  },
];

export function drawOthers(random: Random): Episode {
  return { namespace: 'default', requests: requests(random) };
}

function* requests(random: Random): Iterable<Asked> {
  for (let step = 0; step < STEPS; step++) {
    yield random.chance(0.5) ? drawReview(random) : drawDocument(random);
  }
}

function drawDocument(random: Random): Asked {
  const path = random.pick(DOCUMENTS);
  const accept = random.chance(0.4) ? { accept: random.pick(DISCOVERY_FORMS) } : {};
  const token = random.chance(0.1) ? { token: random.pick(['wrong', null]) } : {};
  const method = random.chance(0.08) ? random.pick(['POST', 'DELETE', 'PUT', 'HEAD']) : 'GET';
  return { method, path, ...accept, ...token };
}

function drawReview(random: Random): Asked {
  const { path, kind, apiVersion, specs } = random.pick(REVIEWS);
  const good = { kind, apiVersion, spec: random.pick(specs) };
  const profile: Profile = {
    ...{ kind, apiVersion, plural: '', namespaced: false, content: () => ({ spec: {} }) },
    fields: [{ path: ['spec', 'user'], values: ['bob'] }],
  };
  const spoil = random.chance(0.1) ? random.pick(SPOILED_TEXTS) : random.pick(SPOILED_OBJECTS);
  const body = random.chance(0.75) ? good : spoil(good, random, profile);
  const query = drawQuery(random, 'write', { usual: { fieldValidation: 'Strict' } });
  const type = drawType(random, 'application/json');
  const method = random.chance(0.04) ? random.pick(['GET', 'PUT', 'DELETE']) : 'POST';
  return { method, path: `${path}${query}`, body, type, ...drawAccept(random) };
}
