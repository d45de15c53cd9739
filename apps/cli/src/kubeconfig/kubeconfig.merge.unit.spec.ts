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

it('becomes the current context under its name, and keeps the others', () =>
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

it('is idempotent', () => {
  const once = mergeKubeconfig(existing, added, 'default-demo');
  expect(mergeKubeconfig(once, added, 'default-demo')).toBe(once);
});

it('creates the file if it does not exist', () =>
  expect(parse(mergeKubeconfig('', added, 'default-demo'))).toMatchObject({
    kind: 'Config',
    'current-context': 'default-demo',
  }));

it('does not overwrite a file that it cannot parse', () =>
  expect(() => mergeKubeconfig('a: [', added, 'x')).toThrow('is not YAML'));
