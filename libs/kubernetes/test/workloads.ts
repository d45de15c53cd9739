import type { Manifest } from '../src/cluster.ports.js';

const LIMIT_MS = 30_000;

/** Retries until the result fits, for at most 30 s. */
export const eventually = async <T>(
  look: () => Promise<T> | T,
  fits: (value: T) => boolean,
  limitMs = LIMIT_MS,
): Promise<T> => {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    if (Date.now() > deadline)
      throw new Error(
        `it did not come true within ${limitMs / 1_000} s; the last look: ${JSON.stringify(value)?.slice(0, 2_000)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

export const deployment = (name: string, replicas: number, pod: object = {}): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name, image: `example.org/${name}:1.2.3`, resources: { requests: { cpu: '250m', memory: '64Mi' } } },
        ],
        ...pod,
      },
    },
  },
});

export const budget = (name: string, minAvailable: number): Manifest => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { minAvailable, selector: { matchLabels: { app: name } } },
});
