import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { accessFromKubeconfig } from '../../src/kubernetes-client/cluster-access.ts';

const SECRET = 'a-token-that-nobody-may-see';

function kubeconfig(change: { cluster?: object; user?: object; top?: object } = {}): string {
  return stringify({
    'current-context': 'b',
    contexts: [
      { name: 'a', context: { cluster: 'other', user: 'other' } },
      { name: 'b', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: 'https://api.example.com:6443/',
          'certificate-authority-data': Buffer.from('the CA').toString('base64'),
          ...change.cluster,
        },
      },
    ],
    users: [{ name: 'u', user: { token: SECRET, ...change.user } }],
    ...change.top,
  });
}

describe('a kubeconfig', () => {
  test('tells how to reach the cluster of its current context', () => {
    expect(accessFromKubeconfig(kubeconfig())).toEqual({
      server: 'https://api.example.com:6443',
      ca: 'the CA',
      token: SECRET,
      skipVerification: false,
    });
  });

  test.each<[string, Parameters<typeof kubeconfig>[0]]>([
    ['starts a program', { user: { exec: { command: 'sh', args: ['-c', 'id'] } } }],
    ['has a plugin', { user: { 'auth-provider': { name: 'x' } } }],
    ['reads a token from a file', { user: { tokenFile: '/etc/shadow' } }],
    ['reads a key from a file', { user: { 'client-key': '/root/.ssh/id' } }],
    ['reads a CA from a file', { cluster: { 'certificate-authority': '/etc/shadow' } }],
    ['goes through a proxy', { cluster: { 'proxy-url': 'http://evil' } }],
    ['has no server', { cluster: { server: '' } }],
    ['has another protocol', { cluster: { server: 'file:///etc/shadow' } }],
    ['has no such context', { top: { 'current-context': 'z' } }],
  ])('a kubeconfig that %s is refused, without its secrets', (_what, change) => {
    expect(() => accessFromKubeconfig(kubeconfig(change))).toThrow(/kubeconfig/);
    expect(() => accessFromKubeconfig(kubeconfig(change))).not.toThrow(SECRET);
  });

  test.each([`token: [${SECRET}`, `a: 1\na: ${SECRET}`])(
    'a kubeconfig that is not YAML is not quoted',
    (text) => {
      expect(() => accessFromKubeconfig(text)).toThrow('the kubeconfig is not YAML');
    },
  );
});
