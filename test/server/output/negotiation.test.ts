import { describe, expect, test } from 'vitest';
import { StatusError } from '../../../src/apimachinery/status-error.ts';
import {
  negotiate,
  negotiateDiscovery,
  negotiateOpenApiV2,
  parseAccept,
  requireJson,
  type Shape,
} from '../../../src/server/output/negotiation.ts';

const wish = (accept?: string, search = '', userAgent?: string) => ({
  accept,
  userAgent,
  query: new URLSearchParams(search),
});
const table = (version: string) => `application/json;as=Table;v=${version};g=meta.k8s.io`;
const partial = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`;
const KUBECTL_GET = `${table('v1')},${table('v1beta1')},application/json`;
const METADATA_INFORMER = `application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${partial('PartialObjectMetadataList')},application/json`;

/** `json`, `yaml`, `json Table v1`, … */
const chosen = (accept: string | undefined, shape: Shape) => {
  const { mediaType, transform } = negotiate(wish(accept), shape);
  const suffix = transform === undefined ? '' : ` ${transform.kind} ${transform.version}`;
  return mediaType.replace('application/', '') + suffix;
};

describe('the answer takes the form the client prefers', () => {
  test.each<[string | undefined, Shape, string]>([
    [undefined, 'object', 'json'],
    ['', 'object', 'json'],
    ['*/*', 'object', 'json'],
    ['application/*', 'object', 'json'],
    ['application/json', 'object', 'json'],
    ['APPLICATION/JSON', 'object', 'json'],
    ['application/json; charset=utf-8', 'object', 'json'],
    ['application/yaml', 'object', 'yaml'],
    ['application/yaml, application/json', 'object', 'yaml'],
    ['application/json, */*', 'object', 'json'],
    ['application/json, */*;q=0.8', 'object', 'json'],
    ['application/json;q=0.5, application/yaml', 'object', 'yaml'],
    ['application/json;q=0.5, application/yaml;q=0.4', 'object', 'json'],
    ['*/*, application/yaml', 'object', 'yaml'],
    ['*/*, application/json;q=0', 'object', 'yaml'],
    ['application/*;q=0.9, text/html', 'object', 'json'],
    ['unrecognized/stuff,application/json; pretty=1', 'object', 'json'],
    ['application/BOGUS, application/json', 'object', 'json'],
    ['application/vnd.kubernetes.protobuf,application/json', 'object', 'json'],
    ['application/cbor,application/vnd.kubernetes.protobuf,application/json', 'list', 'json'],
    ['garbage, application/json', 'object', 'json'],
    ['application/json;q=x, application/yaml', 'object', 'yaml'],
    [KUBECTL_GET, 'list', 'json Table v1'],
    [KUBECTL_GET, 'object', 'json Table v1'],
    [KUBECTL_GET, 'watch', 'json Table v1'],
    [`${table('v1beta1')},application/json`, 'list', 'json Table v1beta1'],
    [`${table('v2')},application/json`, 'list', 'json'],
    ['application/yaml;as=Table;g=meta.k8s.io;v=v1', 'list', 'yaml Table v1'],
    ['application/json;as="Table";g="meta.k8s.io";v="v1"', 'list', 'json Table v1'],
    ['application/json;as=Table;v=v1,application/yaml', 'list', 'yaml'],
    ['application/json;g=meta.k8s.io;v=v1,application/yaml', 'list', 'yaml'],
    ['application/json;as=BOGUS;v=v1beta1;g=meta.k8s.io, application/json', 'object', 'json'],
    [METADATA_INFORMER, 'list', 'json PartialObjectMetadataList v1'],
    [
      `${partial('PartialObjectMetadata')},application/json`,
      'watch',
      'json PartialObjectMetadata v1',
    ],
    [
      `${partial('PartialObjectMetadata')},application/json`,
      'object',
      'json PartialObjectMetadata v1',
    ],
    [`${partial('PartialObjectMetadata')},application/json`, 'list', 'json'],
    [`${partial('PartialObjectMetadataList')},application/json`, 'object', 'json'],
    ['application/json;stream=watch', 'watch', 'json'],
    ['application/json;stream=other,application/yaml', 'object', 'yaml'],
    ['application/json;sv=v9,application/yaml', 'object', 'yaml'],
    ['application/yaml, application/json;q=0.1', 'watch', 'json'],
  ])('%j for a %s is %s', (accept, shape, expected) => {
    expect(chosen(accept, shape)).toBe(expected);
  });
});

describe('a media type that cannot be served is 406', () => {
  const both = 'only the following media types are accepted: application/json, application/yaml';
  test.each<[string, Shape, string]>([
    ['application', 'object', both],
    ['text/html', 'list', both],
    ['*/json', 'list', both],
    ['application/json;q=0', 'object', both],
    [partial('PartialObjectMetadata'), 'list', both],
    ['application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io', 'object', both],
    [
      'application/yaml',
      'watch',
      'only the following media types are accepted: application/json;stream=watch',
    ],
  ])('%s for a %s', (accept, shape, message) => {
    expect(() => negotiate(wish(accept), shape)).toThrow(
      expect.objectContaining({ code: 406, reason: 'NotAcceptable', message }),
    );
    expect(() => negotiate(wish(accept), shape)).toThrow(StatusError);
  });
});

describe('pretty', () => {
  test.each<[string, string | undefined, string | undefined, boolean]>([
    ['', undefined, undefined, false],
    ['', 'kubectl/v1.32.5 (linux/amd64)', undefined, false],
    ['', 'curl/8.5.0', undefined, true],
    ['', 'Wget/1.21', undefined, true],
    ['', 'Mozilla/5.0 (X11)', undefined, true],
    ['', 'not curl', undefined, false],
    ['pretty=false', 'curl/8.5.0', undefined, false],
    ['pretty=0', 'curl/8.5.0', undefined, false],
    ['pretty=', 'curl/8.5.0', undefined, true],
    ['pretty=1', 'kubectl', undefined, true],
    ['pretty=true', 'kubectl', undefined, true],
    ['pretty=yes', 'kubectl', undefined, false],
    ['', 'kubectl', 'application/json;pretty=1', true],
    ['', 'kubectl', 'application/json;pretty=0', false],
  ])('?%s from %s accepting %s: %s', (search, agent, accept, pretty) => {
    expect(negotiate(wish(accept, search, agent), 'object').pretty).toBe(pretty);
  });
});

describe('discovery', () => {
  const aggregated = (version: string, more = '') =>
    `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList${more}`;
  test.each([
    [`${aggregated('v2')},${aggregated('v2beta1')},application/json`, 'v2'],
    [`${aggregated('v2beta1')},application/json`, 'v2beta1'],
    [`${aggregated('v2', ';profile=nopeer')},application/json`, 'v2'],
    [`${aggregated('v9')},application/json`, 'legacy'],
    ['application/json, */*', 'legacy'],
    [undefined, 'legacy'],
  ])('%s gets %s', (accept, form) => {
    expect(negotiateDiscovery(accept).form).toBe(form);
  });

  test('discovery offers only JSON and YAML', () => {
    expect(negotiateDiscovery('application/yaml').mediaType).toBe('application/yaml');
    expect(() => negotiateDiscovery('text/html')).toThrow(expect.objectContaining({ code: 406 }));
  });
});

describe('OpenAPI', () => {
  test.each([
    ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'protobuf'],
    ['application/com.github.proto-openapi.spec.v2.v1.0+protobuf', 'protobuf'],
    ['application/json', 'json'],
    ['application/json, */*', 'json'],
    [undefined, 'json'],
  ])('%s gets version 2 as %s', (accept, form) => {
    expect(negotiateOpenApiV2(accept)).toBe(form);
  });

  test('other types are 406', () => {
    expect(() => negotiateOpenApiV2('text/html')).toThrow(expect.objectContaining({ code: 406 }));
    expect(() => requireJson('text/html')).toThrow(expect.objectContaining({ code: 406 }));
    expect(() => requireJson('application/json, */*')).not.toThrow();
  });
});

test('clauses of equal preference keep their order, wildcards come last', () => {
  const order = parseAccept('*/*, a/*, b/b;q=0.9, a/a, c/c').map((c) => `${c.type}/${c.subtype}`);
  expect(order).toEqual(['a/a', 'c/c', 'a/*', '*/*', 'b/b']);
});
