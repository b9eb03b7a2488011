import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRequest, type ResourceInfo } from '../../../src/server/input/request-info.ts';

const root = '/kubernetes/management';
const parse = (method: string, path: string) => parseRequest({ method, url: root + path, root });
const resource = (method: string, path: string): ResourceInfo => {
  const info = parse(method, path);
  if (info?.isResource !== true) throw new Error(`${path} is no resource request`);
  return info;
};

describe('a resource request is read as the apiserver reads it', () => {
  // covers: authentication.verbs
  test.each([
    // method, path, verb, group, version, namespace, resource, subresource, name
    ['GET', '/api/v1/namespaces', 'list', '', 'v1', '', 'namespaces', '', ''],
    ['GET', '/api/v1/namespaces/other', 'get', '', 'v1', 'other', 'namespaces', '', 'other'],
    ['GET', '/api/v1/namespaces/other/pods', 'list', '', 'v1', 'other', 'pods', '', ''],
    ['GET', '/api/v1/namespaces/other/pods/foo', 'get', '', 'v1', 'other', 'pods', '', 'foo'],
    ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get', '', 'v1', 'other', 'pods', '', 'foo'],
    ['GET', '/api/v1/pods', 'list', '', 'v1', '', 'pods', '', ''],
    ['HEAD', '/api/v1/pods', 'list', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/watch/pods', 'watch', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/watch/namespaces/other/pods', 'watch', '', 'v1', 'other', 'pods', '', ''],
    ['GET', '/apis/g/v1/watch/teams/a', 'watch', 'g', 'v1', '', 'teams', '', 'a'],
    ['GET', '/api/v1/pods?watch=true', 'watch', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/pods?watch', 'watch', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/pods?watch=1', 'watch', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/pods?watch=0', 'list', '', 'v1', '', 'pods', '', ''],
    ['GET', '/api/v1/pods?watch=False', 'list', '', 'v1', '', 'pods', '', ''],
    ['GET', '/apis/g/v1/teams/a?watch=true', 'get', 'g', 'v1', '', 'teams', '', 'a'],
    ['POST', '/apis/g/v1/teams?watch=true', 'create', 'g', 'v1', '', 'teams', '', ''],
    ['GET', '/apis/g/v1/teams/a/status', 'get', 'g', 'v1', '', 'teams', 'status', 'a'],
    ['GET', '/apis/g/v1/teams/a/status/b', 'get', 'g', 'v1', '', 'teams', 'status/b', 'a'],
    [
      'PUT',
      '/api/v1/namespaces/o/finalize',
      'update',
      '',
      'v1',
      'o',
      'namespaces',
      'finalize',
      'o',
    ],
    ['PUT', '/api/v1/namespaces/o/status', 'update', '', 'v1', 'o', 'namespaces', 'status', 'o'],
    ['PATCH', '/apis/g/v1/namespaces/o/s/foo', 'patch', 'g', 'v1', 'o', 's', '', 'foo'],
    ['DELETE', '/apis/g/v1/namespaces/o/s/foo', 'delete', 'g', 'v1', 'o', 's', '', 'foo'],
    ['POST', '/apis/g/v1/namespaces/o/s', 'create', 'g', 'v1', 'o', 's', '', ''],
    ['DELETE', '/apis/g/v1/namespaces/o/s', 'deletecollection', 'g', 'v1', 'o', 's', '', ''],
    ['DELETE', '/api/v1/nodes', 'deletecollection', '', 'v1', '', 'nodes', '', ''],
    ['GET', '/apis/g/v1/teams/', 'list', 'g', 'v1', '', 'teams', '', ''],
    [
      'GET',
      '/apis/g/v1/clusterroles/system%3Aadmin',
      'get',
      'g',
      'v1',
      '',
      'clusterroles',
      '',
      'system:admin',
    ],
    ['OPTIONS', '/apis/g/v1/teams', '', 'g', 'v1', '', 'teams', '', ''],
  ])('%s %s', (method, path, verb, group, version, namespace, plural, subresource, name) => {
    expect(resource(method, path)).toMatchObject({
      verb,
      group,
      version,
      namespace,
      resource: plural,
      subresource,
      name,
      isWatch: verb === 'watch',
      belowRoot: true,
    });
  });

  test('a write below the deprecated watch prefix is no watch', () => {
    expect(resource('POST', '/apis/g/v1/watch/teams')).toMatchObject({
      verb: 'create',
      resource: 'watch',
      isWatch: false,
    });
  });
});

describe('a name that the field selector demands', () => {
  test.each([
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name=a', 'a'],
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name%3Da&watch=true', 'a'],
    ['DELETE', '/apis/g/v1/teams?fieldSelector=metadata.name==a', 'a'],
    ['GET', '/apis/g/v1/teams?fieldSelector=spec.user=u,metadata.name=a', 'a'],
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name=a&fieldSelector=metadata.name=b', 'a'],
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name!=a', ''],
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name=a,foo', ''],
    ['GET', '/apis/g/v1/teams?fieldSelector=metadata.name=../x', ''],
    ['GET', '/apis/g/v1/teams?fieldSelector=spec.x=metadata.name', ''],
    ['GET', '/apis/g/v1/teams/b?fieldSelector=metadata.name=a', ''],
    ['GET', '/apis/g/v1/watch/teams?fieldSelector=metadata.name=a', ''],
    ['POST', '/apis/g/v1/teams?fieldSelector=metadata.name=a', ''],
  ])('%s %s gives %j', (method, path, name) => {
    expect(resource(method, path).selectedName).toBe(name);
  });
});

describe('other paths', () => {
  test.each([
    ['GET', `${root}/apis/g/v1`, '/apis/g/v1', true],
    ['GET', `${root}/apis/g`, '/apis/g', true],
    ['GET', `${root}/apis/`, '/apis', true],
    ['GET', `${root}/api/v1`, '/api/v1', true],
    ['GET', `${root}/version?timeout=5s`, '/version', true],
    ['GET', root, '/', true],
    ['GET', '/', '/', false],
    ['GET', '/healthz', '/healthz', false],
    ['POST', '/git/platform.git/git-upload-pack', '/git/platform.git/git-upload-pack', false],
    ['GET', '/apis/g/v1/teams', '/apis/g/v1/teams', false],
    [
      'GET',
      '/kubernetes/managementx/apis/g/v1/teams',
      '/kubernetes/managementx/apis/g/v1/teams',
      false,
    ],
  ])('%s %s is no resource request', (method, url, path, belowRoot) => {
    expect(parseRequest({ method, url, root })).toMatchObject({
      isResource: false,
      verb: method.toLowerCase(),
      path,
      belowRoot,
    });
  });

  test('the proxy prefix is configurable', () => {
    const url = '/proxy/management/apis/g/v1/teams';
    expect(parseRequest({ method: 'GET', url, root: '/proxy/management' })).toMatchObject({
      isResource: true,
      resource: 'teams',
    });
  });
});

describe('a URL that can be read in two ways has no meaning', () => {
  test.each([
    '/apis/g/v1/teams/a%2Fb',
    '/apis/g/v1/teams/a%2fb',
    '/apis/g/v1/teams/%2e%2e',
    '/apis/g/v1/teams/..',
    '/apis/g/v1/./teams',
    '/apis//g/v1/teams',
    '/apis/g/v1/teams//',
    '/apis/g/v1/teams/%',
    '/apis/g/v1/teams/%zz',
    '/apis/g/v1/teams/%ff',
    '/apis/g/v1/teams/a%252fb',
    '/apis/g/v1/teams/a%00',
    '/apis/g/v1/teams/a%0ab',
    '/apis/g/v1/teams/a%5cb',
  ])('%s', (path) => {
    expect(parse('GET', path)).toBeUndefined();
  });

  test.each(['', '*', 'http://host/kubernetes/management/apis', 'apis'])('%j', (url) => {
    expect(parseRequest({ method: 'GET', url, root })).toBeUndefined();
  });

  test('no path reaches outside of its resource', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 6 }), fc.boolean(), (parts, encode) => {
        const path = parts.map((part) => (encode ? encodeURIComponent(part) : part)).join('/');
        const info = parse('GET', `/apis/g/v1/${path}`);
        if (info?.isResource !== true) return;
        for (const word of [info.namespace, info.resource, info.name]) {
          expect(word).not.toMatch(/[/%]|^\.\.?$/);
        }
      }),
    );
  });
});
