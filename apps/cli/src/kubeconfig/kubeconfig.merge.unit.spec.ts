import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { mergeKubeconfig } from './kubeconfig.merge.js';

const added = `
apiVersion: v1
kind: Config
clusters: [{ name: demo, cluster: { server: 'https://127.10.0.1:6443' } }]
users: [{ name: admin, user: { token: new } }]
contexts: [{ name: admin@demo, context: { cluster: demo, user: admin } }]
`;

const existing = `
apiVersion: v1
kind: Config
preferences: {}
clusters: [{ name: prod, cluster: { server: 'https://prod' } }, { name: default-demo, cluster: { server: 'https://old' } }]
users: [{ name: prod, user: { token: keep } }]
contexts: [{ name: prod, context: { cluster: prod, user: prod } }]
current-context: prod
`;

it('becomes the current context under its own name, and leaves the others alone', () =>
  expect(parse(mergeKubeconfig(existing, added, 'default-demo'))).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    preferences: {},
    clusters: [
      { name: 'prod', cluster: { server: 'https://prod' } },
      { name: 'default-demo', cluster: { server: 'https://127.10.0.1:6443' } },
    ],
    users: [
      { name: 'prod', user: { token: 'keep' } },
      { name: 'default-demo', user: { token: 'new' } },
    ],
    contexts: [
      { name: 'prod', context: { cluster: 'prod', user: 'prod' } },
      { name: 'default-demo', context: { cluster: 'default-demo', user: 'default-demo' } },
    ],
    'current-context': 'default-demo',
  }));

it('is merged twice as once', () => {
  const once = mergeKubeconfig(existing, added, 'default-demo');
  expect(mergeKubeconfig(once, added, 'default-demo')).toBe(once);
});

it('makes a whole file where there was none', () =>
  expect(parse(mergeKubeconfig('', added, 'default-demo'))).toMatchObject({
    kind: 'Config',
    'current-context': 'default-demo',
  }));

it('refuses to write over what it cannot read', () =>
  expect(() => mergeKubeconfig('a: [', added, 'x')).toThrow('is not YAML'));
